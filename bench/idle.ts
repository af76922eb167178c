/**
 * What a server costs that nobody asks: CPU by thread, wake-ups, and memory with 1, 2 and 4 workers, with records, webhooks and metrics.
 * `node bench/idle.ts [seconds] [--against DIR] [--database URL] [--part cpu|memory]`. Both checkouts are measured in the same seconds, with the compile cache and
 * the options of Node of their `npm start`; each is started once before, so that the cache is filled.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { residentMegabytes } from '../test/support/process.ts';
import { account, startUqrp, type Uqrp, writeRecords } from '../test/support/server-process.ts';
import { print, row } from './lib/figures.ts';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const RECORDS = 500;
const WORKERS = [1, 2, 4];
/** Milliseconds after which the work of the start is over. */
const SETTLE_MS = 15_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' }, database: { type: 'string' }, part: { type: 'string' } },
});
const SECONDS = Number(positionals[0] ?? 60);

interface Checkout {
  readonly name: string;
  readonly dir: string;
}

const CHECKOUTS: readonly Checkout[] = [
  ...(values.against === undefined ? [] : [{ name: 'before', dir: values.against }]),
  { name: 'now', dir: HERE },
];

interface Thread {
  readonly kind: string;
  /** CPU since its start, milliseconds. */
  readonly ms: number;
  /** Times that it began to wait. */
  readonly waits: number;
}

async function startOf({ dir }: Checkout, workers: number): Promise<Uqrp> {
  const { scripts } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const cache = /NODE_COMPILE_CACHE=(\S+)/.exec(scripts.start)?.[1];
  const cli = join(dir, 'src/cli.ts');
  const env = {
    UQRP_WORKERS: String(workers),
    UQRP_METRICS: '127.0.0.1:0',
    ...(cache !== undefined && { NODE_COMPILE_CACHE: join(dir, cache) }),
    ...(values.database !== undefined && {
      UQRP_DATABASE_URL: values.database,
      UQRP_SECRET: Buffer.alloc(32, 1).toString('base64'),
    }),
  };
  return startUqrp(env, undefined, [], [cli, 'serve', '--json'], cli);
}

async function fill(server: Uqrp): Promise<void> {
  const name = `n${server.pid}`;
  const customer = account(server, `${name}@example.net`);
  await customer.call('POST', '/namespaces', { namespace: { name } });
  const data = Buffer.alloc(100, 'x').toString('base64');
  await writeRecords(
    customer,
    Array.from({ length: RECORDS }, (_, i) => ({ key: `r${i}.${name}.v1`, data })),
  );
}

/** Its threads by their ids. */
function threads(pid: number): Map<string, Thread> {
  const of = (task: string): Thread => {
    const read = (file: string): string => readFileSync(`/proc/${pid}/task/${task}/${file}`, 'utf8');
    return {
      kind: task === String(pid) ? 'main' : read('comm').trim(),
      ms: Number(read('schedstat').split(' ')[0]) / 1e6,
      waits: Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(read('status'))?.[1]),
    };
  };
  return new Map(readdirSync(`/proc/${pid}/task`).map((task) => [task, of(task)]));
}

/** CPU milliseconds and wake-ups a second by kind of thread. */
function spent(
  before: Map<string, Thread>,
  after: Map<string, Thread>,
  seconds: number,
): Map<string, number[]> {
  const kinds = new Map<string, number[]>([['all', [0, 0]]]);
  for (const [id, { kind, ms, waits }] of after) {
    const from = before.get(id) ?? { ms: 0, waits: 0 };
    for (const name of [kind, 'all']) {
      const [sumMs = 0, sumWaits = 0] = kinds.get(name) ?? [];
      kinds.set(name, [sumMs + (ms - from.ms) / seconds, sumWaits + (waits - from.waits) / seconds]);
    }
  }
  return kinds;
}

function total(pid: number): number {
  return [...threads(pid).values()].reduce((sum, { ms }) => sum + ms, 0);
}

async function cpu(): Promise<void> {
  const servers: { name: string; server: Uqrp }[] = [];
  print(row(['', 'start ms', 'CPU s', 'RSS MB 2 s']));
  for (const checkout of CHECKOUTS) {
    const began = performance.now();
    const server = await startOf(checkout, 1);
    const startMs = Math.round(performance.now() - began);
    servers.push({ name: checkout.name, server });
    await sleep(2000);
    print(row([checkout.name, String(startMs), total(server.pid) / 1000, residentMegabytes(server.pid).all]));
    await fill(server);
  }
  await sleep(SETTLE_MS);
  const before = servers.map(({ server }) => threads(server.pid));
  await sleep(SECONDS * 1000);
  const after = servers.map(({ server }) => threads(server.pid));
  print(`\n${SECONDS} s, one worker`);
  print(row(['', 'CPU ms/s', 'wake-ups/s']));
  for (const [at, { name, server }] of servers.entries()) {
    for (const [kind, [ms = 0, waits = 0]] of spent(before[at]!, after[at]!, SECONDS))
      print(row([`${name}: ${kind}`, ms, waits]));
    await server.remove();
  }
}

async function memory(): Promise<void> {
  print('\nresident MB at rest');
  print(row(['', 'all', 'own', 'of files']));
  for (const workers of WORKERS) {
    for (const checkout of CHECKOUTS) {
      const server = await startOf(checkout, workers);
      await sleep(SETTLE_MS);
      const { all, anon, file } = residentMegabytes(server.pid);
      print(row([`${checkout.name}: workers ${workers}`, all, anon, file]));
      await server.remove();
    }
  }
}

for (const checkout of CHECKOUTS) await (await startOf(checkout, 1)).remove();
if (values.part !== 'memory') await cpu();
if (values.part !== 'cpu') await memory();
