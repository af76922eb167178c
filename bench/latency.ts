/**
 * How long an answer takes at 70 % of what one worker can answer, while 1,000 records a second are written over REST and a flood of names that
 * do not exist goes on: hot names over UDP with DO, on two cores that server and load generators share.
 * `node bench/latency.ts [rounds] [seconds]`
 *
 * The load comes from `dnsperf`; a second one asks 2,000 questions a second beside it and tells the time of each.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { account } from '../test/support/server-process.ts';
import { hotFile, uniqueFile } from './lib/dataset.ts';
import { median, print, quantile, row } from './lib/figures.ts';
import { dnsperf, prime } from './lib/load.ts';
import { restLoads } from './lib/rest-loads.ts';
import { openWorld } from './lib/world.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = Number(process.argv[3] ?? 5);
const SHARE = 0.7;
const PROBES = 2_000;
const WRITES = 1_000;
/** Over twice as many as are signed. */
const FLOOD = 5_000;
const BARS = [
  [0.5, null],
  [0.99, 1],
  [0.999, 5],
] as const;

const world = openWorld({ rounds: ROUNDS, seconds: SECONDS, against: null });
const CASES = ['nothing else', 'load', 'load and writes', 'load, writes, flood'] as const;
const times = new Map(CASES.map((name) => [name, BARS.map((): number[] => [])]));
const asked: number[] = [];
try {
  const { port, server } = (await world.ours())[0]!;
  const customer = account(server, 'writer@example.net');
  await customer.call('POST', '/namespaces', { namespace: { name: 'writes' } });
  const file = hotFile(server.dataDir);
  prime(port, file, ['-D']);
  for (let round = 0; round < ROUNDS; round++) {
    const { answered, seconds } = dnsperf(port, file, ['-D', '-l', String(SECONDS)]);
    const rate = Math.round((answered / seconds) * SHARE);
    asked.push(rate);
    for (const name of CASES) {
      const others = [
        ...(name === 'nothing else' ? [] : [load(port, file, rate)]),
        ...(name.includes('writes') ? [write(customer)] : []),
        ...(name.includes('flood') ? [load(port, uniqueFile(server.dataDir, FLOOD * SECONDS), FLOOD)] : []),
      ];
      const found = await probe(port, file);
      await Promise.all(others);
      for (const [at, [share]] of BARS.entries()) times.get(name)![at]!.push(quantile(found, share));
    }
  }
} finally {
  await world.remove();
}
print(
  `${ROUNDS} rounds of ${SECONDS} s; load: ${median(asked)} questions a second, ${SHARE * 100} % of the most; ms`,
);
print(row(['', ...BARS.map(([share]) => `p${share * 100}`)]));
for (const [name, found] of times) print(row([name, ...found.map(median)]));
print(row(['at most', ...BARS.map(([, most]) => (most === null ? '' : most))]));

function program(port: number, file: string, args: readonly string[]) {
  const all = [
    '-s',
    '127.0.0.1',
    '-p',
    String(port),
    '-d',
    file,
    '-D',
    '-T',
    '1',
    '-l',
    String(SECONDS),
    ...args,
  ];
  return spawn('dnsperf', all, { stdio: ['ignore', 'pipe', 'ignore'] });
}

async function load(port: number, file: string, rate: number): Promise<void> {
  const child = program(port, file, ['-c', '10', '-q', '1000', '-Q', String(rate)]);
  child.stdout.resume();
  await once(child, 'exit');
}

async function write(customer: ReturnType<typeof account>): Promise<void> {
  const [post] = restLoads({ seconds: SECONDS, bulks: 0, namespace: 'writes', rate: WRITES });
  await post!.run(customer, []);
}

/** @returns milliseconds of each answer */
async function probe(port: number, file: string): Promise<readonly number[]> {
  const child = program(port, file, ['-v', '-c', '4', '-q', '1000', '-Q', String(PROBES)]);
  const found: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const seconds = /^> NOERROR .* ([\d.]+)$/.exec(line)?.[1];
    if (seconds !== undefined) found.push(Number(seconds) * 1000);
  }
  return found;
}
