/**
 * REST on the embedded store: POST, PATCH and GET of single records over 16 connections, and bulk writes of 500. Every acknowledged
 * write is synced to disk. The load generator and the server share two cores.
 * `node bench/rest-writes.ts [rounds] [seconds] [bulks] [--against DIR]`. With another checkout (with its `node_modules`) each load of a round
 * runs on both servers, in turn; the order is reversed every round.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { account, startUqrp } from '../test/support/server-process.ts';
import { cpuOf } from './lib/cpu.ts';
import { print, row, spread } from './lib/figures.ts';
import { makeRecords, type RestLoad, restLoads } from './lib/rest-loads.ts';

const HERE = fileURLToPath(new URL('..', import.meta.url));
/** Milliseconds after a load in which the server finishes what requests left, such as the view. */
const SETTLE_MS = 300;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' } },
});
const ROUNDS = Number(positionals[0] ?? 5);
const LOADS = restLoads({ seconds: Number(positionals[1] ?? 3), bulks: Number(positionals[2] ?? 40) }).filter(
  ({ name }) => !process.env.ONLY || process.env.ONLY === name,
);

interface Side {
  readonly pid: number;
  readonly load: (load: RestLoad) => Promise<number>;
  /** Microseconds of CPU a record, and records a second, by load. */
  readonly cpu: Map<string, number[]>;
  readonly rate: Map<string, number[]>;
  remove(): Promise<void>;
}

async function startSide(dir: string): Promise<Side> {
  const cli = join(dir, 'src/cli.ts');
  const server = await startUqrp({ UQRP_WORKERS: '1' }, undefined, [], [cli, 'serve', '--json'], cli);
  const customer = account(server);
  await customer.call('POST', '/namespaces', { namespace: { name: 'bench' } });
  const ids = await makeRecords(customer);
  return {
    pid: server.pid,
    load: (load) => load.run(customer, ids),
    cpu: new Map(LOADS.map(({ name }) => [name, []])),
    rate: new Map(LOADS.map(({ name }) => [name, []])),
    remove: () => server.remove(),
  };
}

async function measure(side: Side, load: RestLoad): Promise<void> {
  const before = cpuOf(side);
  const startedAt = performance.now();
  const records = await side.load(load);
  const seconds = (performance.now() - startedAt) / 1000;
  await sleep(SETTLE_MS);
  side.cpu.get(load.name)!.push(((cpuOf(side) - before) / records) * 1e6);
  side.rate.get(load.name)!.push(records / seconds);
}

function report(title: string, values: readonly number[]): void {
  const { middle, least, most } = spread(values);
  print(row([title, middle, least, most]));
}

/** The quotients of the rounds: loads of one round follow each other. */
const ratios = (now: readonly number[], before: readonly number[]): number[] =>
  now.map((value, i) => value / before[i]!);

const now = await startSide(HERE);
const before = values.against === undefined ? null : await startSide(values.against);
try {
  // The first round warms both up and does not count.
  for (let round = -1; round < ROUNDS; round++) {
    const sides = before === null ? [now] : round % 2 === 0 ? [before, now] : [now, before];
    for (const load of LOADS) for (const side of sides) await measure(side, load);
    if (round < 0)
      for (const side of sides) for (const list of [...side.cpu.values(), ...side.rate.values()]) list.pop();
  }
} finally {
  await Promise.all([now.remove(), before?.remove()]);
}
print(`${ROUNDS} rounds; records of 100 bytes; 16 connections`);
print(row(['', 'median', 'least', 'most']));
for (const { name } of LOADS) {
  const cpu = now.cpu.get(name)!;
  const rate = now.rate.get(name)!;
  report(`${name}: CPU us`, cpu);
  report(`${name}: a second`, rate);
  if (before === null) continue;
  report('  before: CPU us', before.cpu.get(name)!);
  report('  before: a second', before.rate.get(name)!);
  report('  ratio of CPU', ratios(cpu, before.cpu.get(name)!));
  report('  ratio of the rate', ratios(rate, before.rate.get(name)!));
}
