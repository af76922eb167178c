/**
 * REST on the embedded store: POST, PATCH and GET of single records over 16 connections, and bulk writes of 500. Every acknowledged
 * write is synced to disk. The load generator and the server share two cores.
 * `node bench/rest-writes.ts [rounds] [seconds] [bulks] [--against DIR] [--floor]`. With another checkout (with its `node_modules`) each load of
 * a round runs on both servers, in turn; the order is reversed every round. `--floor` adds to POST and bulk what `node:http` and the parsing of
 * JSON cost alone, and these with the rows that the product writes (`lib/floor-server.ts`).
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { start, stop } from '../test/support/process.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { cpuOf } from './lib/cpu.ts';
import { print, row, spread } from './lib/figures.ts';
import { makeRecords, type RestLoad, restLoads } from './lib/rest-loads.ts';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const FLOOR = fileURLToPath(new URL('lib/floor-server.ts', import.meta.url));
/** Milliseconds after a load in which the server finishes what requests left, such as the view. */
const SETTLE_MS = 300;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' }, floor: { type: 'boolean', default: false } },
});
const ROUNDS = Number(positionals[0] ?? 5);
const LOADS = restLoads({ seconds: Number(positionals[1] ?? 3), bulks: Number(positionals[2] ?? 40) }).filter(
  ({ name }) => !process.env.ONLY || process.env.ONLY === name,
);

interface Side {
  readonly name: string;
  readonly pid: number;
  /** Whether it answers the load. */
  readonly takes: (load: RestLoad) => boolean;
  readonly load: (load: RestLoad) => Promise<number>;
  /** Microseconds of CPU a record, and records a second, by load. */
  readonly cpu: Map<string, number[]>;
  readonly rate: Map<string, number[]>;
  remove(): Promise<void>;
}

async function startSide(name: string, dir: string): Promise<Side> {
  const cli = join(dir, 'src/cli.ts');
  const server = await startUqrp({ UQRP_WORKERS: '1' }, undefined, [], [cli, 'serve', '--json'], cli);
  const customer = account(server);
  await customer.call('POST', '/namespaces', { namespace: { name: 'bench' } });
  const ids = await makeRecords(customer);
  return {
    name,
    pid: server.pid,
    takes: () => true,
    load: (load) => load.run(customer, ids),
    ...noFigures(),
    remove: () => server.remove(),
  };
}

function noFigures(): Pick<Side, 'cpu' | 'rate'> {
  return {
    cpu: new Map(LOADS.map(({ name }) => [name, []])),
    rate: new Map(LOADS.map(({ name }) => [name, []])),
  };
}

/** A program that does less, on the data of a server that has stopped. */
async function startFloor(name: string, ...what: string[]): Promise<Side> {
  const server = await startUqrp({ UQRP_WORKERS: '1' });
  const customer = account(server);
  await customer.call('POST', '/namespaces', { namespace: { name: 'bench' } });
  await server.stop();
  const child = start(process.execPath, ['--max-semi-space-size=8', FLOOR, server.dataDir, ...what], {});
  const port = Number(await new Promise<Buffer>((resolve) => child.stdout!.once('data', resolve)));
  return {
    name,
    pid: child.pid!,
    takes: ({ name }) => name === 'POST' || name === 'bulk',
    load: (load) => load.run(customer.at(`http://127.0.0.1:${port}/api/v1`), []),
    ...noFigures(),
    async remove() {
      await stop(child);
      rmSync(server.dataDir, { recursive: true, force: true });
    },
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

const now = await startSide('now', HERE);
const others = [
  ...(values.against === undefined ? [] : [await startSide('before', values.against)]),
  ...(values.floor ? [await startFloor('node:http', 'http'), await startFloor('node:http and rows')] : []),
];
const sides = [...others, now];
try {
  // The first round warms all up and does not count.
  for (let round = -1; round < ROUNDS; round++) {
    const inOrder = round % 2 === 0 ? sides : sides.toReversed();
    for (const load of LOADS) for (const side of inOrder) if (side.takes(load)) await measure(side, load);
    if (round < 0)
      for (const side of sides) for (const list of [...side.cpu.values(), ...side.rate.values()]) list.pop();
  }
} finally {
  await Promise.all(sides.map((side) => side.remove()));
}
print(`${ROUNDS} rounds; records of 100 bytes; 16 connections`);
print(row(['', 'median', 'least', 'most']));
for (const load of LOADS) {
  const { name } = load;
  const cpu = now.cpu.get(name)!;
  const rate = now.rate.get(name)!;
  report(`${name}: CPU us`, cpu);
  report(`${name}: a second`, rate);
  for (const other of others.filter(({ takes }) => takes(load))) {
    report(`  ${other.name}: CPU us`, other.cpu.get(name)!);
    report(`  ${other.name}: a second`, other.rate.get(name)!);
    report('  ratio of CPU', ratios(cpu, other.cpu.get(name)!));
    report('  ratio of the rate', ratios(rate, other.rate.get(name)!));
  }
}
