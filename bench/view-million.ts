/**
 * One million records of 300 bytes in the LMDB view, loaded through the follower. Prints the time to open it, its
 * memory, and lookup times.
 *
 *   node bench/view-million.ts [records]
 *
 * One child process writes the file, another measures it, so that no memory of the writer counts.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startFollower } from '../src/feed/follower/follower.ts';
import type { ChangeSource } from '../src/feed/ports/change-source.ts';
import { openLmdbReader } from '../src/view/reader.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import { keyAt, manyRecords, namespaceAt, recordAt } from './lib/many-records.ts';
import { runViewSteps } from './lib/view-steps.ts';

const RECORDS = Number(process.argv[2] ?? 1_000_000);
const DATA_BYTES = 300;
const LOOKUPS = 1_000_000;
/** Lookups per tick of the event loop, as in a worker between two reads of a socket. */
const LOOKUPS_A_TURN = 100;

/** Visits 0 to RECORDS - 1 in an order that follows neither keys nor pages. */
const shuffled = (i: number): number => (i * 611_953) % RECORDS;

function dataAt(i: number): Buffer {
  const data = Buffer.alloc(DATA_BYTES, i & 0xff);
  data.writeUInt32BE(i);
  return data;
}

const changedAt = (place: number) => recordAt(shuffled(place), dataAt(shuffled(place)));

const snapshot = () =>
  manyRecords({ records: RECORDS, dataAt, order: shuffled, isPublic: (namespace) => namespace % 2 === 0 });

const source: ChangeSource = {
  bounds: async () => ({ epoch: 'bench', oldest: 1, head: RECORDS }),
  since: async () => [],
  openSnapshot: async () => ({ epoch: 'bench', seq: RECORDS, pages: snapshot() }),
  onChange: () => () => {},
  heardAt: Date.now,
};

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function memory(): string {
  const status = readFileSync('/proc/self/status', 'latin1');
  return ['VmHWM', 'VmRSS', 'RssAnon', 'RssFile']
    .map(
      (name) =>
        `${name} ${Math.round(Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)?.[1]) / 1024)} MiB`,
    )
    .join(', ');
}

async function build(path: string): Promise<void> {
  let started = performance.now();
  const view = openLmdbWriter({ path });
  const follower = startFollower({ source, view, clock: Date.now });
  await follower.ready;
  print(`rebuild     ${((performance.now() - started) / 1000).toFixed(1)} s, ${memory()}`);
  await follower.stop();
  started = performance.now();
  await view.close();
  print(
    `close       ${(performance.now() - started).toFixed(0)} ms, file ${(statSync(join(path, '2.mdb')).size / 1e6).toFixed(0)} MB`,
  );
}

async function change(path: string): Promise<void> {
  const view = openLmdbWriter({ path, wipeAfterMs: 0 });
  const single = await timed(200, (i) => view.apply([changedAt(i)], RECORDS + i));
  print(`apply 1     ${single}`);
  const many = (i: number) =>
    Array.from({ length: 1000 }, (_, n) => ({ ...changedAt(i * 1000 + n), ttlSeconds: 60 }));
  print(`apply 1000  ${await timed(20, (i) => view.apply(many(i), RECORDS + i))}`);
  const started = performance.now();
  view.wipe();
  print(`wipe        ${(performance.now() - started).toFixed(1)} ms`);
  await view.close();
}

async function timed(rounds: number, work: (i: number) => Promise<void>): Promise<string> {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const started = performance.now();
    await work(i);
    times.push((performance.now() - started) * 1000);
    if (i % LOOKUPS_A_TURN === 0) await nextTurn();
  }
  return quantiles(Float64Array.from(times));
}

function quantiles(times: Float64Array): string {
  times.sort();
  const at = (q: number): string =>
    times[Math.min(times.length - 1, Math.floor(times.length * q))]!.toFixed(1);
  return `p50 ${at(0.5)} µs, p99 ${at(0.99)} µs, p99.9 ${at(0.999)} µs, max ${at(1)} µs`;
}

async function measure(path: string): Promise<void> {
  print(`at start    ${memory()}`);
  let started = performance.now();
  const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
  const cursor = writer.cursor();
  const reader = openLmdbReader({ path });
  if (cursor === null || reader.record(keyAt(0)) === null) throw new Error('the view is not what was built');
  print(`open        ${(performance.now() - started).toFixed(1)} ms`);
  const look = async (name: string, keyOf: (i: number) => string, expected: boolean): Promise<void> => {
    const times = new Float64Array(LOOKUPS);
    let wrong = 0;
    started = performance.now();
    for (let i = 0; i < LOOKUPS; i++) {
      const key = keyOf((i * 7_368_787) % RECORDS);
      const before = performance.now();
      if ((reader.record(key) !== null) !== expected) wrong++;
      times[i] = (performance.now() - before) * 1000;
      if (i % LOOKUPS_A_TURN === 0) await nextTurn();
    }
    if (wrong > 0) throw new Error(`${wrong} lookups were wrong`);
    const mean = times.reduce((sum, time) => sum + time, 0) / LOOKUPS;
    print(`${name.padEnd(11)} mean ${mean.toFixed(2)} µs, ${quantiles(times)}`);
  };
  await look('hits, cold', keyAt, true);
  await look('hits, warm', keyAt, true);
  await look('misses', (i) => `absent-${i}.catalog.${namespaceAt(i)}.v1`, false);
  print(`after       ${memory()}`);
  const below = await timed(100_000, async (i) => void reader.anyBelow(`catalog.${namespaceAt(i)}.v1`));
  print(`anyBelow    ${below}`);
  const refreshed = await timed(100_000, async (i) => {
    reader.refresh();
    reader.record(keyAt(i));
  });
  print(`refresh+get ${refreshed}`);
  await reader.close();
  await writer.close();
}

await runViewSteps(import.meta.filename, [build, measure, change]);
