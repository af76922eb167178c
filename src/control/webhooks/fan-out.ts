import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { QUIET_MS } from '../../store/store-loop.ts';
import {
  advanceCursor,
  changesOf,
  countWaiting,
  customersConcerned,
  droppedSince,
  eventNumbers,
  fanOutPosition,
  hastenAll,
  hastenFirst,
  holdEnabled,
  insertDeliveries,
  lastChange,
  lockCursor,
  moveCursor,
  rewindCursor,
  saveEventNumbers,
  setDueBy,
} from '../../store/webhooks/fan-out.ts';
import { DeliveryBatch, type EnqueuedCounts, FAN_OUT_LIMITS, type FanOutLimits } from './delivery-batch.ts';

const WEBHOOKS_MAX = 10_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Dropped deliveries that a webhook's history could still take at `at`, read from the database. */
interface DroppedCount {
  readonly id: string;
  readonly capacity: number;
  /** Milliseconds since the epoch. `oldest`: creation of the oldest one of the last hour, or null. */
  readonly at: number;
  readonly oldest: number | null;
}

interface Remembered {
  readonly capacity: number;
  readonly until: number;
}

/** Caches counts of dropped deliveries, so that a flood of events does not count rows in every unit of work. */
export class DroppedCounts {
  readonly #known = new Map<string, Remembered>();

  /** Call it when another process may have written deliveries. */
  clear(): void {
    this.#known.clear();
  }

  /** @returns null when the database must be asked */
  capacity(id: string, at: number): number | null {
    const known = this.#known.get(id);
    return known === undefined || at >= known.until ? null : known.capacity;
  }

  /** Call it only after the unit is committed. */
  remember(counts: readonly DroppedCount[]): void {
    for (const { id, capacity, at, oldest } of counts) {
      if (this.#known.size >= WEBHOOKS_MAX) this.#known.clear();
      this.#known.set(id, { capacity, until: Math.max((oldest ?? at) + HOUR_MS, at + MINUTE_MS) });
    }
  }

  subtract(dropped: ReadonlyMap<string, number>): void {
    for (const [id, count] of dropped) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, capacity: known.capacity - count });
    }
  }
}

/** Maximum of changes in one span. PAGE: changes whose payloads are read at a time. */
const SPAN_MAX = 500;
const PAGE = 50;

/** Webhooks that one unit of work locks. A single customer may have more. */
const TARGETS_MAX = 500;

const NOTHING: EnqueuedCounts = { events: 0, waiting: 0, dropped: 0, unwritten: 0 };

/** A range of the change log: sequence numbers above `after`, up to and including `until`. */
interface LogSpan {
  readonly after: number;
  readonly until: number;
  /** Customers with an enabled webhook and an event in the span. */
  readonly owners: readonly string[];
  readonly isLast: boolean;
}

/** Up to `SPAN_MAX` changes after `after`; fewer when they concern more than `TARGETS_MAX` webhooks. Null: none. */
export async function nextSpan(db: Db, after: number): Promise<LogSpan | null> {
  for (let size = SPAN_MAX; ; size = Math.floor(size / 2)) {
    const until = await lastChange(db, after, size);
    if (until === null) return null;
    const concerned = await customersConcerned(db, after, until);
    const targets = [...concerned.values()].reduce((sum, count) => sum + count, 0);
    if (targets > TARGETS_MAX && concerned.size > 1) continue;
    return { after, until, owners: [...concerned.keys()], isLast: until < after + size };
  }
}

interface EnqueueRules {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly limits: FanOutLimits;
  readonly firstDelayMs: number;
  readonly droppedCounts: DroppedCounts;
}

interface Enqueued {
  /** The new cursor. Beyond the span when another process has gone ahead. */
  readonly seq: number;
  readonly counts: EnqueuedCounts;
  readonly dropped: ReadonlyMap<string, number>;
  /** The caller stores these after the commit: a unit that runs again counts again. */
  readonly counted: readonly DroppedCount[];
}

/** Clocks of control processes that differ by less only make a first attempt this much later. Milliseconds. */
const SKEW_MS = 1000;

/** Enqueues as many changes of a span as fit and moves the cursor. Lock order: cursor, customer, webhook, delivery. */
async function enqueue(tx: Tx, { after, until, owners }: LogSpan, rules: EnqueueRules): Promise<Enqueued> {
  const { clock, newId, limits, firstDelayMs, droppedCounts } = rules;
  const cursor = await lockCursor(tx);
  // Another process has gone ahead, and may have written dropped deliveries.
  if (cursor.seq > after) droppedCounts.clear();
  if (cursor.seq >= until) return { seq: cursor.seq, counts: NOTHING, dropped: new Map(), counted: [] };
  const from = Math.max(after, cursor.seq);
  const now = clock();
  const at = Math.max(now, cursor.at);
  // A clock that was an hour ahead for a moment must not make all first attempts of an hour late.
  const wasAhead = at - now > SKEW_MS;
  const dueAt = (wasAhead ? now : at) + firstDelayMs;
  const numbers = await eventNumbers(tx, owners);
  const targets = await holdEnabled(tx, owners);
  const ids = targets.map(({ id }) => id);
  const waiting = ids.length === 0 ? new Map<string, number>() : await countWaiting(tx, ids);
  const counted: DroppedCount[] = [];
  const droppedCapacity = async (id: string): Promise<number> => {
    const known = droppedCounts.capacity(id, at);
    if (known !== null) return known;
    const count = await countDropped(tx, id, at, limits);
    counted.push(count);
    return count.capacity;
  };
  const batch = new DeliveryBatch({ at, dueAt, newId, limits, targets, waiting, numbers, droppedCapacity });
  const seq = await fillBatch(tx, batch, owners, from, until);
  await insertDeliveries(tx, batch.rows);
  if (batch.due.size > 0) {
    // Those from before are due later by that clock, and are to be sent before these.
    if (wasAhead) await hastenFirst(tx, [...batch.due], dueAt);
    await setDueBy(tx, [...batch.due], dueAt);
  }
  await saveEventNumbers(tx, batch.numbers);
  await moveCursor(tx, seq, at);
  return { seq, counts: batch.counts, dropped: batch.dropped, counted };
}

/** Adds the changes of a span until the batch is full. @returns the last `seq` that the batch has processed */
async function fillBatch(
  tx: Tx,
  batch: DeliveryBatch,
  owners: readonly string[],
  after: number,
  until: number,
): Promise<number> {
  for (let seq = after; ; ) {
    const changes = await changesOf(tx, owners, seq, until, PAGE);
    for (const change of changes) {
      if (!(await batch.add(change))) return change.seq - 1;
      ({ seq } = change);
    }
    if (changes.length < PAGE) return until;
  }
}

async function countDropped(
  tx: Tx,
  id: string,
  at: number,
  { droppedKept }: FanOutLimits,
): Promise<DroppedCount> {
  const { count, oldest } = await droppedSince(tx, id, at - HOUR_MS, droppedKept);
  return { id, capacity: droppedKept - count, at, oldest };
}

/**
 * Pause after each pass, milliseconds, so that a stream of commits is read in batches: with one of 1 ms, passes that find no webhook cost each
 * write 3 % of its CPU. The first write after a pause waits for none.
 */
const PAUSE_MS = 10;

/** While nothing is to be enqueued, the cursor is written after this many changes or milliseconds. */
const SAVE_EVERY = 5000;
const SAVE_MS = 1000;

export interface FanOutOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly signal: AbortSignal;
  readonly timers?: Timers | undefined;
  readonly wake: () => void;
  /** Called for the first failed pass in a row, and when the change log ends before the cursor. */
  readonly onError: (error: unknown) => void;
  /** Called after each unit of work that gave numbers to events. Must not throw. */
  readonly onEnqueued?: (counts: EnqueuedCounts) => void;
  /** Milliseconds from enqueueing to the first attempt. */
  readonly firstDelayMs?: number;
  readonly limits?: Partial<FanOutLimits>;
  /** Longest wait between two passes, milliseconds. Bounds the delay after a lost wake-up. */
  readonly pollMs?: number;
}

export interface FanOut {
  /**
   * Enqueues for all changes in the log.
   * @param woken true: use the position in memory, which saves a statement
   * @returns whether the cursor in the database is at the position
   */
  pass(woken: boolean): Promise<'saved' | 'unsaved'>;
}

/** The change log ends before the cursor: the database was restored from an older backup. */
class LogRewoundError extends Error {
  constructor() {
    super('the change log ends before the position of the fan-out');
    this.name = 'LogRewoundError';
  }
}

/** Enqueues deliveries for committed changes until aborted. Never rejects. Several processes may run it on one database. */
export async function startFanOut(options: FanOutOptions): Promise<void> {
  const { store, signal, timers, onError, pollMs = QUIET_MS } = options;
  const waker = createWaker(signal, timers);
  const fanOut = openFanOut(options);
  let notified = false;
  const stopListening = store.changes.onChange(() => {
    notified = true;
    waker.wake();
  });
  await loop({
    signal,
    waker,
    pass: async () => {
      const woken = notified;
      notified = false;
      const cursor = await fanOut.pass(woken);
      await waker.sleep(Math.min(PAUSE_MS, pollMs));
      return cursor === 'saved' ? pollMs : Math.min(SAVE_MS, pollMs);
    },
    onError: (error, failures) => {
      if (failures === 1) onError(error);
    },
  });
  stopListening();
}

/**
 * The fan-out without its loop. Deliveries and cursor are written in one unit of work: exactly once per event and webhook,
 * across a crash. While there is nothing to enqueue, the position in memory runs ahead of the cursor in the database.
 * A log pruned beyond the position continues at its oldest change. After a restore from a backup it continues at the cursor,
 * or at the log's end if the cursor is beyond it, and calls `onError`.
 */
export function openFanOut(options: FanOutOptions): FanOut {
  const { store, clock, signal, wake, onError, onEnqueued } = options;
  const { elapsed } = options.timers ?? realTimers;
  const rules: EnqueueRules = {
    clock,
    newId: options.newId,
    limits: { ...FAN_OUT_LIMITS, ...options.limits },
    firstDelayMs: options.firstDelayMs ?? 0,
    droppedCounts: new DroppedCounts(),
  };
  let position: number | null = null;
  /** The cursor in the database as last read or written, and when by the timers. */
  let saved = 0;
  let savedAt = elapsed();

  /** Without an event nothing else would: what waits would be late by as much as the clock was ahead. */
  async function hastenAfterClock(): Promise<void> {
    for (let webhooks = TARGETS_MAX; webhooks === TARGETS_MAX && !signal.aborted; ) {
      const dueAt = clock() + rules.firstDelayMs;
      webhooks = await store.write((tx) => hastenAll(tx, dueAt, TARGETS_MAX));
    }
  }

  async function findPosition(): Promise<number> {
    const { cursor, at, oldest, head } = await fanOutPosition(store.read);
    if (at - clock() > SKEW_MS) await hastenAfterClock();
    if (cursor > head) await store.write(rewindCursor);
    saved = Math.min(cursor, head);
    const known = position ?? 0;
    // Another process has gone ahead, and may have written dropped deliveries.
    if (cursor > known) rules.droppedCounts.clear();
    if (cursor <= head && known <= head) return Math.max(cursor, known, oldest - 1);
    onError(new LogRewoundError());
    return Math.max(saved, oldest - 1);
  }

  async function saveCursor(seq: number): Promise<void> {
    if (seq <= saved) return;
    if (seq - saved < SAVE_EVERY && elapsed() - savedAt < SAVE_MS) return;
    await store.write((tx) => advanceCursor(tx, seq));
    saved = seq;
    savedAt = elapsed();
  }

  async function enqueueSpan(span: LogSpan): Promise<number> {
    const { seq, counts, dropped, counted } = await store.write((tx) => enqueue(tx, span, rules));
    saved = seq;
    savedAt = elapsed();
    rules.droppedCounts.remember(counted);
    rules.droppedCounts.subtract(dropped);
    if (counts.waiting > 0) wake();
    if (counts.events > 0) onEnqueued?.(counts);
    return seq;
  }

  async function readFrom(start: number): Promise<void> {
    for (let seq = start; !signal.aborted; ) {
      const span = await nextSpan(store.read, seq);
      if (span === null) return;
      seq = span.owners.length === 0 ? span.until : await enqueueSpan(span);
      position = seq;
      await saveCursor(seq);
      // Later commits wake the next pass.
      if (span.isLast && seq >= span.until) return;
    }
  }

  return {
    async pass(woken) {
      try {
        position = woken && position !== null ? position : await findPosition();
        await readFrom(position);
        await saveCursor(position);
        return position > saved ? 'unsaved' : 'saved';
      } catch (error) {
        // After a lost connection the unit may be committed, and the database may be another one.
        position = null;
        rules.droppedCounts.clear();
        throw error;
      }
    },
  };
}
