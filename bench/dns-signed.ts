/**
 * Signed answers: CPU per answered query, ours against BIND and NSD (zones signed beforehand, by the same two
 * algorithms) and against PowerDNS, which signs online as we do.
 *
 *   hot     names that exist, DO set, over UDP
 *   unique  names that do not exist, each asked once: the server signs each denial online
 *   DoT     hot names over TLS
 *   DoH     one hot name over HTTP/2, by h2load: 32 requests at a time on each of 8 connections, and one at a time
 *
 * Arguments: rounds, seconds per run, and the parts to run (`doh`, or `hot,dot`); all parts without the third.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeQuery } from '../src/edge/wire/message/query.ts';
import { nameFromText } from '../src/edge/wire/name.ts';
import { requirePrograms } from '../test/support/process.ts';
import { compare, dnsperf, type Load, type Target, waitFor } from './lib/compare.ts';
import { FIRST_NAME, hotFile, startFilled, uniqueFile, ZONE, zoneText } from './lib/dataset.ts';
import { print, row } from './lib/figures.ts';
import { startNsd } from './lib/peers.ts';
import { signZone, startPowerDns, startSecureBind } from './lib/signed-peers.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = process.argv[3] ?? '4';
const PARTS = process.argv[4]?.split(',') ?? ['hot', 'unique', 'dot', 'doh'];
const UNIQUE = 100_000;
const REQUESTS = 160_000;

requirePrograms({
  named: 'bind9',
  nsd: 'nsd',
  pdns_server: 'pdns-server pdns-backend-lmdb',
  dnsperf: 'dnsperf',
  h2load: 'nghttp2-client',
  dig: 'bind9-dnsutils',
});
const ours = await startFilled();
const read = (file: string): string => readFileSync(join(ours.dataDir, 'tls', file), 'utf8');
const signed = signZone(ZONE, zoneText());
const bind = startSecureBind(ZONE, signed, 5411, { cert: read('cert.pem'), key: read('key.pem') });
const nsd = startNsd(ZONE, signed, 5414);
const pdns = startPowerDns(ZONE, zoneText(), 5415);
const peers = [bind, nsd, pdns];
const uqrp = (port: number): Target => ({ name: 'uqrp', port, pid: ours.pid });
const at = ({ name, child }: (typeof peers)[number], port: number): Target => ({
  name,
  port,
  pid: child.pid!,
});

try {
  const udp = [uqrp(ours.ports.dns), at(bind, 5411), at(nsd, 5414)];
  const live = [uqrp(ours.ports.dns), at(pdns, 5415)];
  for (const target of [...udp, ...live]) await waitFor(target, FIRST_NAME);
  print(`${ROUNDS} rounds of ${SECONDS} s, one worker each, two signatures an rrset`);
  const file = hotFile(ours.dataDir);
  const body = join(ours.dataDir, 'query.bin');
  writeFileSync(body, question());
  const ratios: [what: string, measured: number, limit: string][] = [];
  const ratio = (from: Map<string, number>, a: string, b: string): number => from.get(a)! / from.get(b)!;
  const dnsperfOver =
    (queries: string, ...args: string[]) =>
    (target: Target): Load =>
      dnsperf(target, queries, ['-D', ...args, '-l', SECONDS]);
  if (PARTS.includes('hot')) {
    const hot = compare(udp, { what: 'hot, signed', rounds: ROUNDS, load: dnsperfOver(file) });
    ratios.push(['hot, CPU uqrp / BIND', ratio(hot, 'uqrp', 'BIND'), '<= 1.00']);
    ratios.push(['hot, CPU uqrp / NSD', ratio(hot, 'uqrp', 'NSD'), '<= 1.50']);
  }
  if (PARTS.includes('unique')) {
    const load = (target: Target): Load => dnsperfOver(uniqueFile(ours.dataDir, UNIQUE), '-n', '1')(target);
    const unique = compare(live, { what: 'unique, signed online', rounds: ROUNDS, load });
    ratios.push(['unique, q/cpu-s / PowerDNS', ratio(unique, 'PowerDNS', 'uqrp'), '>= 2.00']);
  }
  if (PARTS.includes('dot')) {
    const targets = [uqrp(ours.ports.dot), at(bind, 5412)];
    const load = dnsperfOver(file, '-m', 'dot');
    const dot = compare(targets, { what: 'DoT, signed', rounds: ROUNDS, load });
    ratios.push(['DoT, q/cpu-s / BIND', ratio(dot, 'BIND', 'uqrp'), '>= 2.00']);
  }
  if (PARTS.includes('doh')) {
    const targets = [uqrp(ours.ports.doh), at(bind, 5413)];
    const doh = compare(targets, {
      what: 'DoH over HTTP/2, signed',
      rounds: ROUNDS,
      load: (target) => h2load(target, body, 32),
    });
    const single = compare(targets, {
      what: 'DoH, one at a time',
      rounds: ROUNDS,
      load: (target) => h2load(target, body, 1),
    });
    ratios.push(['DoH, q/cpu-s / BIND', ratio(doh, 'BIND', 'uqrp'), '>= 1.20']);
    ratios.push(['DoH, one at a time', ratio(single, 'BIND', 'uqrp'), '>= 1.20']);
  }
  print('');
  print(row(['ratio', 'measured', 'limit']));
  for (const line of ratios) print(row(line));
} finally {
  await Promise.all(peers.map((peer) => peer.remove()));
  await ours.remove();
}

/** @param streams concurrent requests per connection */
function h2load(target: Target, body: string, streams: number): Load {
  const url = `https://127.0.0.1:${target.port}/dns-query`;
  const header = 'content-type: application/dns-message';
  const requests = String(streams === 1 ? REQUESTS / 4 : REQUESTS);
  const clients = ['-c', '8', '-m', String(streams), '-t', '1'];
  const args = ['-n', requests, ...clients, '-H', header, '-d', body, url];
  const text = execFileSync('h2load', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const succeeded = Number(/(\d+) succeeded/.exec(text)?.[1]);
  const time = /finished in ([\d.]+)(ms|s)/.exec(text);
  return { answered: succeeded, seconds: Number(time?.[1]) / (time?.[2] === 'ms' ? 1000 : 1) };
}

function question(): Uint8Array {
  return encodeQuery(nameFromText(FIRST_NAME)!, 16, {
    id: 0,
    rd: false,
    edns: { payload: 1232, dnssecOk: true },
  });
}
