/**
 * UDP: CPU per answered query, ours against BIND and NSD, with the same 10,000 records of 100 bytes.
 *
 *   hot     names that exist, each asked again and again
 *   unique  names that do not exist, each asked once
 *
 * Each server has one worker. The load generator is the same for all, one thread on the other core. Servers are measured in
 * turn, order reversed every round; CPU is the whole process with all its threads, read from /proc.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostedEnvelope } from '../src/core/envelope.ts';
import { cpuSeconds, requirePrograms } from '../test/support/process.ts';
import { account, startUqrp, writeRecords } from '../test/support/server-process.ts';
import { median, print, row } from './lib/figures.ts';
import { type Peer, startBind, startNsd } from './lib/peers.ts';

const RECORDS = 10_000;
const UNIQUE = 400_000;
const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = Number(process.argv[3] ?? 4);
const ZONE = 'uqrp.net';
const NAMESPACE = 'bench';

requirePrograms({ named: 'bind9', nsd: 'nsd', dnsperf: 'dnsperf', dig: 'bind9-dnsutils' });

const payload = (i: number): Buffer => Buffer.alloc(100, `${i}-`);
const recordName = (i: number): string => `r${i}.${NAMESPACE}.v1`;

const ours = await startUqrp({ UQRP_WORKERS: '1' });
const customer = account(ours);
await customer.call('POST', '/namespaces', { namespace: { name: NAMESPACE } });
ours.cli(['namespace', 'public-read', NAMESPACE, 'on']);
await writeRecords(
  customer,
  Array.from({ length: RECORDS }, (_, i) => ({
    key: recordName(i),
    data: payload(i).toString('base64'),
    content_type: 'text/plain',
  })),
);

const zoneText = makeZoneText();
const peers: Peer[] = [startBind(ZONE, zoneText, 5401), startNsd(ZONE, zoneText, 5402)];
const targets = [
  { name: 'uqrp', port: ours.ports.dns, pids: () => [ours.pid] },
  ...peers.map((peer) => ({ name: peer.name, port: peer.port, pids: () => family(peer.child.pid!) })),
];
type Target = (typeof targets)[number];

const hotFile = join(ours.dataDir, 'hot.txt');
writeFileSync(
  hotFile,
  Array.from({ length: RECORDS }, (_, i) => `get.${recordName((i * 7919) % RECORDS)}.${ZONE} TXT\n`).join(''),
);

try {
  for (const target of targets) await waitFor(target);
  print(`${ROUNDS} rounds of ${SECONDS} s, ${RECORDS} records of 100 bytes, one worker each`);
  const hot = await compare('hot', () => hotFile);
  let made = 0;
  const unique = await compare('unique', () => {
    const file = join(ours.dataDir, 'unique.txt');
    const from = made++ * UNIQUE;
    const lines = Array.from({ length: UNIQUE }, (_, i) => `get.u${from + i}.${NAMESPACE}.v1.${ZONE} TXT\n`);
    writeFileSync(file, lines.join(''));
    return file;
  });
  print('');
  print(row(['ratio of CPU per query', 'measured', 'limit']));
  print(row(['hot, uqrp / BIND', hot.get('uqrp')! / hot.get('BIND')!, '1.30']));
  print(row(['hot, uqrp / NSD', hot.get('uqrp')! / hot.get('NSD')!, '']));
  print(row(['unique, uqrp / BIND', unique.get('uqrp')! / unique.get('BIND')!, '2.00']));
  print(row(['unique, uqrp / NSD', unique.get('uqrp')! / unique.get('NSD')!, '']));
} finally {
  await Promise.all(peers.map((peer) => peer.remove()));
  await ours.remove();
}

/** Median CPU microseconds per query of each server. */
async function compare(what: string, queries: () => string): Promise<Map<string, number>> {
  const micros = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  const rates = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  load(targets[0]!, queries(), 1);
  for (let round = 0; round < ROUNDS; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      const file = queries();
      const before = cpuOf(target);
      const { answered, seconds } = load(target, file, SECONDS);
      micros.get(target.name)!.push(((cpuOf(target) - before) / answered) * 1e6);
      rates.get(target.name)!.push(answered / seconds);
    }
  }
  print('');
  print(row([what, 'CPU us/query', 'least', 'most', 'queries/s']));
  for (const { name } of targets) {
    const all = micros.get(name)!;
    print(
      row([
        name,
        median(all),
        Math.min(...all),
        Math.max(...all),
        String(Math.round(median(rates.get(name)!))),
      ]),
    );
  }
  return new Map([...micros].map(([name, all]) => [name, median(all)]));
}

function load(target: Target, file: string, seconds: number): { answered: number; seconds: number } {
  const args = ['-s', '127.0.0.1', '-p', String(target.port), '-d', file, '-l', String(seconds)];
  // Unique names must be asked once: no second pass over the file.
  const once = file.endsWith('unique.txt') ? ['-n', '1'] : [];
  const text = execFileSync('dnsperf', [...args, ...once, '-c', '8', '-T', '1', '-q', '200', '-e'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
  return {
    answered: number(/Queries completed:\s+(\d+)/),
    seconds: number(/Run time \(s\):\s+([\d.]+)/),
  };
}

function cpuOf(target: Target): number {
  return target.pids().reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

/** A process and its children: NSD answers from a child. */
function family(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid);
  return [pid, ...children.flatMap(family)];
}

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return -1;
  }
}

async function waitFor(target: Target): Promise<void> {
  const args = ['@127.0.0.1', '-p', String(target.port), '+short', '+tries=1', '+time=1', 'TXT'];
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      const text = execFileSync('dig', [...args, `get.${recordName(0)}.${ZONE}`], { encoding: 'utf8' });
      if (text.includes('v=svc1')) return;
    } catch {
      // Not up yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${target.name} does not answer`);
}

function makeZoneText(): string {
  const lines = [
    `$ORIGIN ${ZONE}.`,
    '$TTL 60',
    '@ 60 IN SOA ns1 hostmaster 1 14400 3600 1209600 60',
    '@ 3600 IN NS ns1',
    '@ 3600 IN NS ns2',
    'ns1 A 192.0.2.1',
    'ns2 A 192.0.2.2',
  ];
  for (let i = 0; i < RECORDS; i++) {
    const text = hostedEnvelope(payload(i), 'text', 300).toString('latin1');
    const chunks = text.match(/.{1,255}/g) ?? [];
    lines.push(`get.${recordName(i)} IN TXT ${chunks.map((chunk) => `"${chunk}"`).join(' ')}`);
  }
  return `${lines.join('\n')}\n`;
}
