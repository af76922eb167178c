/**
 * The query log with a million rows in its window: inserts, pages with and without filters, deep pages, and 100 streams.
 * `node bench/query-log.ts sqlite|postgres [rows]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '../src/base/limits.ts';
import { pageQueryLog } from '../src/control/query-log/list.ts';
import type { QueryLogRow } from '../src/feed/ports/query-log.ts';
import type { Actor } from '../src/http/actor.ts';
import { openStore } from '../src/store/open.ts';
import { queryLogSink } from '../src/store/query-log/add-rows.ts';
import { listen, openEvents } from '../test/support/control/query-log/event-reader.ts';
import { queryLogRow } from '../test/support/feed/ports/query-log-suite.ts';
import { type Customer, openWorld } from '../test/support/http/world.ts';
import { settle } from '../test/support/store/fixtures.ts';
import { postgresDatabase } from '../test/support/store/postgres.ts';
import { updateRows } from '../test/support/store/rows.ts';
import { print, row } from './lib/figures.ts';

const engine = process.argv[2] ?? 'sqlite';
const ROWS = Number(process.argv[3] ?? 1_000_000);
const DAY = 86_400_000;
const NAMESPACES = 40;
const CALLS = 200;
const BATCH = 500;
const STREAMS = 100;

const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-bench-'));
const database = engine === 'postgres' ? await postgresDatabase() : null;
const store = await openStore({ dataDir, databaseUrl: database?.url ?? null, clock: Date.now });
const now = Date.now();

/** Nine of ten rows belong to one customer with 40 namespaces. Every hundredth row is refused. */
async function fill(): Promise<Actor> {
  const owner = await settle(store, 'busy0');
  const ids = [owner.namespaceId];
  for (let i = 1; i < NAMESPACES; i++) {
    const { namespaceId } = await settle(store, `busy${i}`);
    await store.write((tx) =>
      updateRows(tx, 'namespaces', { customer_id: owner.customerId }, { id: namespaceId }),
    );
    ids.push(namespaceId);
  }
  const { namespaceId: other } = await settle(store, 'other');
  const sink = queryLogSink(store, () => now);
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  for (let start = 0; start < ROWS; start += BATCH) {
    const rows = Array.from({ length: BATCH }, (_, i): QueryLogRow => {
      const n = start + i;
      const id = n % 10 === 0 ? other : ids[(n * 7) % NAMESPACES]!;
      const isRefused = n % 100 === 1;
      const parts = isRefused ? ({ status: 'refused', resource: null, version: null } as const) : {};
      return queryLogRow(id, Math.floor(now - DAY + 60_000 + (n * (DAY - 60_000)) / ROWS), parts);
    });
    await sink.add({ node: 'bench', batch: String(start), rows, dropped: [] });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  print(
    `${ROWS} rows in batches of ${BATCH}: ${Math.round(ROWS / seconds)} rows/s, CPU of this process ${((user + system) / ROWS).toFixed(1)} us/row`,
  );
  return {
    customerId: owner.customerId,
    personId: owner.customerId,
    userId: owner.customerId,
    sessionId: 'bench',
    role: 'owner',
    tier: 'pro',
    via: 'session',
    operations: new Set(['read', 'write']),
    namespaces: null,
  } as Actor;
}

async function measure(title: string, actor: Actor, query: Readonly<Record<string, string>>): Promise<void> {
  const deps = { store, clock: () => now };
  const times: number[] = [];
  let total = 0;
  const cpu = process.cpuUsage();
  for (let call = 0; call < CALLS; call++) {
    const startedAt = performance.now();
    total = (await pageQueryLog(deps, actor, query)).meta.total;
    times.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const at = (part: number): number => times[Math.floor(times.length * part)]!;
  print(row([title, at(0.5), at(0.99), times.at(-1)!, (user + system) / 1000 / CALLS, String(total)]));
}

async function pages(actor: Actor): Promise<void> {
  print(row(['GET /query_logs', 'p50 ms', 'p99 ms', 'most', 'CPU ms', 'total']));
  await measure('first page of 50', actor, {});
  await measure('first page of 100', actor, { limit: '100' });
  await measure('one namespace', actor, { namespace: 'busy3' });
  await measure('status refused', actor, { status: 'refused', limit: '100' });
  await measure('status expired (none)', actor, { status: 'expired' });
  await measure('namespace and status', actor, { namespace: 'busy7', status: 'refused', limit: '100' });
  const iso = (ago: number): string => new Date(now - ago).toISOString();
  await measure('5 hours in the middle', actor, {
    since: iso(DAY / 2),
    until: iso(DAY / 2 - 5 * 3_600_000),
    limit: '100',
  });
  await measure(
    'key of 10 namespaces',
    { ...actor, namespaces: new Set(Array.from({ length: 10 }, (_, i) => `busy${i}`)) },
    { limit: '100' },
  );
  let cursor: string | null = null;
  for (let page = 0; page < 100; page++) {
    const query: Record<string, string> = { limit: '100', ...(cursor !== null && { cursor }) };
    cursor = (await pageQueryLog({ store, clock: () => now }, actor, query)).meta.next_cursor;
  }
  await measure('page 101 of 100 rows', actor, { limit: '100', cursor: cursor! });
}

async function streams(): Promise<void> {
  const world = await openWorld(store);
  const port = await listen(world);
  const customers: { customer: Customer; namespace: { id: string } }[] = [];
  for (let i = 0; i < Math.ceil(STREAMS / LIMITS.queryLogStreamsPerCustomer); i++) {
    const customer = await world.customer();
    customers.push({ customer, namespace: await customer.namespace() });
  }
  const readers = await Promise.all(
    Array.from({ length: STREAMS }, (_, i) => openEvents(port, customers[i % customers.length]!.customer)),
  );
  const sink = queryLogSink(store, world.now);
  let batches = 0;
  const add = (): Promise<void> => {
    batches++;
    const rows = customers.flatMap(({ namespace }) =>
      Array.from({ length: 10 }, () => queryLogRow(namespace.id, world.now())),
    );
    return sink.add({ node: 'streams', batch: String(batches), rows, dropped: [] });
  };
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const cpu = process.cpuUsage();
  const delays: number[] = [];
  for (let round = 0; round < 20; round++) {
    const startedAt = performance.now();
    await Promise.all([add(), ...readers.map((reader) => reader.take(10))]);
    delays.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 600));
  }
  delays.sort((a, b) => a - b);
  const { user, system } = process.cpuUsage(cpu);
  print(
    `${STREAMS} streams: insert to the last client, median ${delays[10]!.toFixed(0)} ms, most ${delays[19]!.toFixed(0)} ms; CPU ${((user + system) / 1000 / (20 * STREAMS * 10)).toFixed(3)} ms per event, clients included`,
  );
  for (const reader of readers) reader.close();
  await world.close();
}

try {
  const actor = await fill();
  await pages(actor);
  await streams();
} finally {
  await store.close();
  await database?.drop();
  rmSync(dataDir, { recursive: true, force: true });
}
