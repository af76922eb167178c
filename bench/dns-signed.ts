/**
 * Signed answers: CPU per answered query, ours against BIND and NSD (zones signed beforehand, by the same two algorithms) and
 * against PowerDNS, which signs online as we do.
 *
 *   hot     names that exist, DO set, over UDP
 *   unique  names that do not exist, each asked once: their denial is signed at that moment
 *   DoT     hot names over TLS
 *   DoH     one hot name over HTTP/2, by h2load
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameFromText } from '../src/edge/wire/name.ts';
import { encodeQuery } from '../src/edge/wire/query.ts';
import { requirePrograms } from '../test/support/process.ts';
import { compare, dnsperf, type Load, type Target, waitFor } from './lib/compare.ts';
import { FIRST_NAME, hotFile, startFilled, uniqueFile, ZONE, zoneText } from './lib/dataset.ts';
import { print, row } from './lib/figures.ts';
import { startNsd } from './lib/peers.ts';
import { signZone, startPowerDns, startSecureBind } from './lib/signed-peers.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = process.argv[3] ?? '4';
const UNIQUE = 100_000;
const REQUESTS = 40_000;

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
  const hot = compare(udp, {
    what: 'hot, signed',
    rounds: ROUNDS,
    load: (target) => dnsperf(target, file, ['-D', '-l', SECONDS]),
  });
  const unique = compare(live, {
    what: 'unique, signed online',
    rounds: ROUNDS,
    load: (target) => dnsperf(target, uniqueFile(ours.dataDir, UNIQUE), ['-D', '-n', '1', '-l', SECONDS]),
  });
  const dot = compare([uqrp(ours.ports.dot), at(bind, 5412)], {
    what: 'DoT, signed',
    rounds: ROUNDS,
    load: (target) => dnsperf(target, file, ['-D', '-m', 'dot', '-l', SECONDS]),
  });
  const body = join(ours.dataDir, 'query.bin');
  writeFileSync(body, question());
  const doh = compare([uqrp(ours.ports.doh), at(bind, 5413)], {
    what: 'DoH over HTTP/2, signed',
    rounds: ROUNDS,
    load: (target) => h2load(target, body),
  });
  const ratio = (from: Map<string, number>, a: string, b: string): number => from.get(a)! / from.get(b)!;
  print('');
  print(row(['ratio', 'measured', 'limit']));
  print(row(['hot, CPU uqrp / BIND', ratio(hot, 'uqrp', 'BIND'), '<= 1.00']));
  print(row(['hot, CPU uqrp / NSD', ratio(hot, 'uqrp', 'NSD'), '<= 1.50']));
  print(row(['unique, q/cpu-s / PowerDNS', ratio(unique, 'PowerDNS', 'uqrp'), '>= 2.00']));
  print(row(['DoT, q/cpu-s / BIND', ratio(dot, 'BIND', 'uqrp'), '>= 2.00']));
  print(row(['DoH, q/cpu-s / BIND', ratio(doh, 'BIND', 'uqrp'), '>= 1.20']));
} finally {
  await Promise.all(peers.map((peer) => peer.remove()));
  await ours.remove();
}

function h2load(target: Target, body: string): Load {
  const url = `https://127.0.0.1:${target.port}/dns-query`;
  const header = 'content-type: application/dns-message';
  const args = ['-n', String(REQUESTS), '-c', '8', '-m', '32', '-t', '1', '-H', header, '-d', body, url];
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
