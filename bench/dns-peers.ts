/**
 * UDP without DNSSEC: CPU per answered query, ours against BIND and NSD, with the same 10,000 records of 100 bytes.
 *
 *   hot     names that exist, each asked repeatedly
 *   unique  names that do not exist, each asked once
 *
 * Each server has one worker. The load generator is the same for all, one thread on the other core. CPU is the whole
 * process with all its threads and children, read from /proc.
 */
import { requirePrograms } from '../test/support/process.ts';
import { compare, dnsperf, type Target, waitFor } from './lib/compare.ts';
import { FIRST_NAME, hotFile, startFilled, uniqueFile, ZONE, zoneText } from './lib/dataset.ts';
import { print, row } from './lib/figures.ts';
import { startBind, startNsd } from './lib/peers.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = process.argv[3] ?? '4';
const UNIQUE = 400_000;

requirePrograms({ named: 'bind9', nsd: 'nsd', dnsperf: 'dnsperf', dig: 'bind9-dnsutils' });
const ours = await startFilled();
const peers = [startBind(ZONE, zoneText(), 5401), startNsd(ZONE, zoneText(), 5402)];
const targets: Target[] = [
  { name: 'uqrp', port: ours.ports.dns, pid: ours.pid },
  ...peers.map(({ name, port, child }) => ({ name, port, pid: child.pid! })),
];

try {
  for (const target of targets) await waitFor(target, FIRST_NAME);
  print(`${ROUNDS} rounds of ${SECONDS} s, one worker each`);
  const file = hotFile(ours.dataDir);
  const hot = compare(targets, {
    what: 'hot',
    rounds: ROUNDS,
    load: (target) => dnsperf(target, file, ['-e', '-l', SECONDS]),
  });
  const unique = compare(targets, {
    what: 'unique',
    rounds: ROUNDS,
    // One pass over the file: a second pass would find the names in the cache.
    load: (target) => dnsperf(target, uniqueFile(ours.dataDir, UNIQUE), ['-e', '-n', '1', '-l', SECONDS]),
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
