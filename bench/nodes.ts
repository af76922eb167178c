/**
 * What nodes cost: 100 sources of changes with followers in this process, control in another, both on a `nats-server` of this machine.
 * CPU of each side and of the broker at 1,000 changes a second, the time from a write to each node, and the transactions of PostgreSQL
 * while nothing is written, with one node and with all. Views only count.
 *
 * `node bench/nodes.ts [sqlite|postgres] [nodes] [changes a second] [seconds] [units of work a second]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openNatsBus } from '../src/feed/bus/nats/nats-bus.ts';
import { startFollower } from '../src/feed/follower/follower.ts';
import type { ViewRebuild, ViewWriter } from '../src/feed/ports/view-writer.ts';
import { openBusSource } from '../src/feed/receive/bus-source.ts';
import { verifier } from '../test/support/feed/batch/messages.ts';
import { testKeys, testRpc } from '../test/support/feed/bus/bus-source-world.ts';
import { type NatsServer, natsMissing, startNats } from '../test/support/feed/bus/nats-server.ts';
import { postgresDatabase } from '../test/support/store/postgres.ts';
import { cpuOf } from './lib/cpu.ts';
import type { Order } from './lib/feed-control.ts';
import { print, row } from './lib/figures.ts';

const ENGINE = process.argv[2] ?? 'postgres';
const NODES = Number(process.argv[3] ?? 100);
const RATE = Number(process.argv[4] ?? 1_000);
const SECONDS = Number(process.argv[5] ?? 30);
const UNITS = process.argv[6] ?? '20';
/** As many as one process follows without falling behind: decoding is the work of one thread. */
const FEW = Math.ceil(NODES / 4);
const IDLE_SECONDS = 15;
const CONTROL = fileURLToPath(new URL('./lib/feed-control.ts', import.meta.url));

interface Node {
  readonly cursor: () => number | null;
  stop(): Promise<void>;
}

const CATCH_UP_MS = 60_000;

/** Places are milliseconds from a write to its view; the last one has what took longer. */
const LATENCY_MS = 10_000;
const latencies = new Uint32Array(LATENCY_MS + 1);
let repairs = 0;
let refusals = 0;

/** Holds nothing but its cursor. */
function countingView(): ViewWriter {
  let at: { readonly cursor: number; readonly epoch: string } | null = null;
  const rebuild: ViewRebuild = {
    load: async () => {},
    adopt: async () => {},
    apply: async () => {},
    finish: async (_, cursor, epoch) => {
      at = { cursor, epoch };
    },
    discard: async () => {},
  };
  return {
    cursor: () => at?.cursor ?? null,
    epoch: () => at?.epoch ?? null,
    isLost: () => false,
    apply: async (_, cursor) => {
      at = { epoch: at!.epoch, cursor };
    },
    rebuild: async () => rebuild,
    close: async () => {},
  };
}

async function openNode(server: NatsServer, name: string): Promise<Node> {
  const bus = openNatsBus({
    servers: [server.address],
    inboxPrefix: `_INBOX.${name}`,
    streams: null,
    onError: (error) => process.stderr.write(`${String(error)}\n`),
  });
  const source = openBusSource({
    bus,
    rpc: testRpc(bus, name, Date.now),
    verifier,
    keys: () => testKeys,
    clock: Date.now,
    onRepair: (_, changes) => {
      repairs += changes;
    },
    onRefused: () => refusals++,
  });
  const view = countingView();
  const follower = startFollower({
    source,
    view,
    clock: Date.now,
    onApplied(changes) {
      const now = Date.now();
      for (const { at } of changes) latencies[Math.min(Math.max(0, now - at), LATENCY_MS)]!++;
    },
  });
  await follower.ready;
  return {
    cursor: () => view.cursor(),
    async stop() {
      source.close();
      await follower.stop();
      await bus.close();
    },
  };
}

/** Milliseconds within which this share of the changes were in the views. */
function latency(share: number): number {
  const all = latencies.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  return latencies.findIndex((count) => {
    seen += count;
    return seen >= all * share;
  });
}

interface Cpu {
  readonly control: number;
  readonly nodes: number;
  readonly broker: number;
  readonly written: number;
}

const missing = natsMissing();
if (missing !== null) throw new Error(missing);
const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-bench-'));
const database = ENGINE === 'postgres' ? await postgresDatabase() : null;
const server = await startNats();
const control = fork(CONTROL, [dataDir, database?.url ?? '', server.address, UNITS]);
await once(control, 'message');
const nodes: Node[] = [];

async function order(message: Order): Promise<{ readonly seconds: number; readonly written: number }> {
  const answer = once(control, 'message');
  control.send(message);
  return ((await answer) as [{ seconds: number; written: number }])[0];
}

/** Opens nodes or stops them, ten at a time. */
async function haveNodes(count: number): Promise<void> {
  while (nodes.length > count)
    await Promise.all(nodes.splice(Math.max(count, nodes.length - 10)).map((node) => node.stop()));
  while (nodes.length < count) {
    const more = Math.min(10, count - nodes.length);
    const names = Array.from({ length: more }, (_, i) => `node${nodes.length + i}`);
    nodes.push(...(await Promise.all(names.map((name) => openNode(server, name)))));
  }
}

async function cpu(): Promise<Cpu> {
  const { seconds, written } = await order({ do: 'cpu' });
  const { user, system } = process.cpuUsage();
  return { control: seconds, nodes: (user + system) / 1e6, broker: cpuOf(server), written };
}

/** Writes at a rate and prints what it took. */
async function measure(title: string, rate: number, seconds: number): Promise<void> {
  await order({ do: 'write', rate });
  await sleep(3_000);
  latencies.fill(0);
  const [before, startedAt] = [await cpu(), performance.now()];
  await sleep(seconds * 1000);
  const [after, took] = [await cpu(), (performance.now() - startedAt) / 1000];
  const share = (side: keyof Cpu): string => `${(((after[side] - before[side]) / took) * 100).toFixed(1)} %`;
  const times = nodes.length === 0 || rate === 0 ? ['', ''] : [latency(0.5), latency(0.99)].map(String);
  const written = ((after.written - before.written) / took).toFixed(0);
  print(row([title, written, share('control'), share('nodes'), share('broker'), ...times]));
  const { written: last } = await order({ do: 'write', rate: 0 });
  const endedAt = performance.now();
  const isBehind = (): boolean => nodes.some((node) => (node.cursor() ?? 0) < last);
  while (isBehind() && performance.now() - endedAt < CATCH_UP_MS) await sleep(100);
  const late = performance.now() - endedAt;
  if (late > 1_000)
    print(`  the last node had everything ${(late / 1000).toFixed(1)} s after the last write`);
}

async function transactions(): Promise<number> {
  const found = await database!.query(
    'select xact_commit::int as n from pg_stat_database where datname = current_database()',
  );
  return (found as { n: number }[])[0]!.n;
}

/** An idle process of PostgreSQL reports its transactions after ten seconds: those of before must not be counted. */
const REPORTED_MS = 12_000;

/** Transactions of PostgreSQL a second while nothing is written. */
async function idle(): Promise<void> {
  if (database === null) return;
  await sleep(REPORTED_MS);
  const [before, startedAt] = [await transactions(), performance.now()];
  await sleep(IDLE_SECONDS * 1000);
  const more = (await transactions()) - before;
  const perSecond = more / ((performance.now() - startedAt) / 1000);
  print(`idle, ${nodes.length} nodes: ${perSecond.toFixed(2)} transactions/s in PostgreSQL`);
}

try {
  print(
    `${ENGINE}, ${NODES} nodes in one process, ${RATE} changes/s in ${UNITS} units of work for ${SECONDS} s; CPU of one core`,
  );
  const columns = ['changes/s', 'control', 'nodes', 'nats-server', 'p50 ms', 'p99 ms'];
  const head = row(['', ...columns]);
  await idle();
  print(head);
  await measure('no feed', RATE, SECONDS / 3);
  await order({ do: 'publish' });
  await measure('feed, no node', RATE, SECONDS / 3);
  await haveNodes(1);
  await measure('1 node', RATE, SECONDS / 3);
  await idle();
  await haveNodes(NODES);
  print(head);
  await measure(`${NODES} nodes, nothing written`, 0, SECONDS / 3);
  await idle();
  await measure(`${NODES} nodes`, RATE, SECONDS);
  await haveNodes(FEW);
  await measure(`${FEW} nodes`, RATE, SECONDS);
  const { written } = await order({ do: 'cpu' });
  const behind = nodes.filter((node) => node.cursor() !== written).length;
  print(`${behind} nodes behind, ${repairs} changes not live, ${refusals} messages refused`);
} finally {
  for (const node of nodes) await node.stop();
  const gone = once(control, 'exit');
  control.send({ do: 'stop' } satisfies Order);
  await gone;
  await server.remove();
  await database?.drop();
  rmSync(dataDir, { recursive: true, force: true });
}
