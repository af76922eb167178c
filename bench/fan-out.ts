import { randomBytes } from 'node:crypto';
import { timeOrderedUuids } from '../src/base/ids.ts';
import { LIMITS } from '../src/base/limits.ts';
import { aesGcmEncryption } from '../src/base/seal.ts';
import type { RunUnit } from '../src/control/deps.ts';
import { writeBulk } from '../src/control/records/bulk.ts';
import { type FanOutOptions, startFanOut } from '../src/control/webhooks/fan-out.ts';
import type { Actor } from '../src/http/actor.ts';
import type { Store } from '../src/store/store.ts';
import { addHook, settlePaying } from '../test/support/store/fan-out-world.ts';
import { sqliteDatabase } from '../test/support/store/sqlite.ts';
import { median, print, row } from './lib/figures.ts';

const RECORDS = Number(process.argv[2] ?? 100_000);
const ROUNDS = Number(process.argv[3] ?? 5);
const NAMESPACE = 'bench';
const DATA = Buffer.alloc(100, 'x').toString('base64');
/** No limit on waiting deliveries, so that the figure is the rate of row writes. */
const UNLIMITED = { waiting: Number.POSITIVE_INFINITY };

interface Run {
  /** Records per second. */
  readonly written: number;
  /** Events per second, from the first write to the last delivery row. */
  readonly enqueued: number;
  /** CPU of the whole process, microseconds per record. */
  readonly micros: number;
  /** Longest block of the event loop, milliseconds. */
  readonly stall: number;
}

/** Writes all records into an empty store. @param webhooks null: without a fan-out */
async function run(webhooks: number | null, limits: FanOutOptions['limits'] = {}): Promise<Run> {
  const database = await sqliteDatabase();
  const store = await database.open();
  const home = await settlePaying(store, NAMESPACE, 'enterprise');
  for (let made = 0; made < (webhooks ?? 0); made++) await addHook(store, home);
  const ending = new AbortController();
  let events = 0;
  const loop =
    webhooks === null
      ? null
      : startFanOut({
          store,
          clock: Date.now,
          newId: timeOrderedUuids(Date.now),
          signal: ending.signal,
          wake: () => {},
          onError: (error) => {
            throw error;
          },
          onEnqueued: (counts) => {
            events += counts.events;
          },
          limits,
        });
  const watch = watchStalls();
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await load(store, home.customerId);
  const writtenAt = performance.now();
  while (webhooks !== null && webhooks > 0 && events < RECORDS) await pause();
  const endedAt = performance.now();
  const { user, system } = process.cpuUsage(before);
  const stall = watch();
  ending.abort();
  await loop;
  await store.close();
  await database.drop();
  return {
    written: RECORDS / ((writtenAt - startedAt) / 1000),
    enqueued: RECORDS / ((endedAt - startedAt) / 1000),
    micros: (user + system) / RECORDS,
    stall,
  };
}

async function load(store: Store, customerId: string): Promise<void> {
  const newId = timeOrderedUuids(Date.now);
  const unit: RunUnit = (work) => store.write(work);
  const historyKeys = aesGcmEncryption(randomBytes(32), randomBytes);
  const deps = { unit, clock: Date.now, newId, zoneLength: 8, random: randomBytes, historyKeys };
  const actor: Actor = {
    customerId,
    personId: customerId,
    userId: null,
    sessionId: null,
    role: null,
    tier: 'enterprise',
    via: 'session',
    apiKey: null,
    requestId: null,
    operations: new Set(['write']),
    namespaces: null,
  };
  for (let from = 0; from < RECORDS; from += LIMITS.bulkItems) {
    const records = Array.from({ length: Math.min(LIMITS.bulkItems, RECORDS - from) }, (_, i) => ({
      key: `r${from + i}.${NAMESPACE}.v1`,
      data: DATA,
    }));
    await writeBulk(deps, actor, { records });
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** @returns a function that stops the timer and returns its longest delay, milliseconds */
function watchStalls(): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

await run(null);
const without: Run[] = [];
const idle: Run[] = [];
const ratios: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const order = round % 2 === 0 ? [null, 0] : [0, null];
  for (const webhooks of order) (webhooks === null ? without : idle).push(await run(webhooks));
  ratios.push(idle.at(-1)!.written / without.at(-1)!.written);
}
print(`${RECORDS} records of 100 bytes in bulk requests of ${LIMITS.bulkItems}; ${ROUNDS} rounds`);
print(row(['', 'records/s', 'least', 'most', 'CPU us', 'stall ms']));
report('no fan-out', without, 'written');
report('nobody has a webhook', idle, 'written');
print(row(['ratio of the rates', median(ratios), Math.min(...ratios), Math.max(...ratios)]));
for (const [title, webhooks, limits] of [
  ['1 webhook, no limit', 1, UNLIMITED],
  ['3 webhooks, no limit', 3, UNLIMITED],
  ['3 webhooks', 3, {}],
  ['100 webhooks', 100, {}],
] as const) {
  const runs: Run[] = [];
  for (let round = 0; round < Math.ceil(ROUNDS / 2); round++) runs.push(await run(webhooks, limits));
  report(title, runs, 'enqueued');
}

function report(title: string, runs: readonly Run[], rate: 'written' | 'enqueued'): void {
  const rates = runs.map((one) => one[rate]);
  const figures = [median(rates), Math.min(...rates), Math.max(...rates)].map((one) => one.toFixed(0));
  const stall = Math.max(...runs.map((one) => one.stall));
  print(row([title, ...figures, median(runs.map((one) => one.micros)), stall]));
}
