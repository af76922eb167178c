/**
 * Measures how the deletion of a large namespace delays other customers: `node bench/deletion.ts [records]
 * [sqlite|postgres]`. It fills a namespace and deletes it, while another customer writes a record every 20 ms. It
 * prints the times of those writes, of the deletion's units, and of every statement.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deleteNamespace, startDeletions } from '../src/control/namespaces/deletion.ts';

import { openStore } from '../src/store/open.ts';
import { fillNamespace, testActor, testDeps } from '../test/support/store/deletion-world.ts';
import { putRecord, settle } from '../test/support/store/fixtures.ts';
import { postgresDatabase } from '../test/support/store/postgres.ts';
import { firstRow } from '../test/support/store/rows.ts';
import { timeStatements } from '../test/support/store/statement-times.ts';

const PACE_MS = 20;

const records = Number(process.argv[2] ?? 100_000);
const engine = process.argv[3] ?? 'sqlite';
const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-bench-'));
const database = engine === 'postgres' ? await postgresDatabase() : null;
const store = await openStore({ dataDir, databaseUrl: database?.url ?? null, clock: Date.now });
const [large, other] = [await settle(store, 'large'), await settle(store, 'other')];
await fillNamespace(store, large, records);

/** Milliseconds from the call of a write to its acknowledgement. */
async function write(name: string): Promise<number> {
  const began = performance.now();
  await store.write((tx) => putRecord(tx, other, name));
  return performance.now() - began;
}

function percentile(times: readonly number[], share: number): string {
  const sorted = times.toSorted((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function report(what: string, times: readonly number[]): void {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(times, share));
  print(`${what}: ${times.length} writes, p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
}

const before: number[] = [];
for (let i = 0; i < 200; i++) {
  before.push(await write(`before${i}`));
  await sleep(PACE_MS);
}
report('alone', before);

const statements = timeStatements();
const ending = new AbortController();
let isGone = false;
const units: number[] = [];
const timed: typeof store = {
  ...store,
  write: async (work) => {
    const began = performance.now();
    const value = await store.write(work);
    units.push(performance.now() - began);
    return value;
  },
};
const loops = startDeletions({
  store: timed,
  clock: Date.now,
  signal: ending.signal,
  onError: (error) => print(String(error)),
});
const began = performance.now();
await deleteNamespace(testDeps(store, Date.now), testActor(large), large.namespaceId);
print(`closed after ${(performance.now() - began).toFixed(1)} ms`);
const during: number[] = [];
for (let i = 0; !isGone; i++) {
  during.push(await write(`during${i}`));
  await sleep(PACE_MS);
  if (i % 50 !== 49) continue;
  const row = await firstRow(store.read, 'namespaces', { columns: ['id'], where: { id: large.namespaceId } });
  isGone = row === undefined;
}
print(`${records} records on ${engine} gone after ${((performance.now() - began) / 1000).toFixed(1)} s`);
report('meanwhile', during);
print(`units: ${units.length}, p99 ${percentile(units, 0.99)} ms, longest ${percentile(units, 1)} ms`);
const [p99, longest] = [0.99, 1].map((share) => percentile(statements, share));
print(`statements: ${statements.length}, p99 ${p99} ms, longest ${longest} ms`);
ending.abort();
await loops;
await store.close();
await database?.drop();
rmSync(dataDir, { recursive: true });
