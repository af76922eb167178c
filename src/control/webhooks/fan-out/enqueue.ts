import type { Clock } from '../../../core/clock.ts';
import type { Db, Tx } from '../../store/store.ts';
import { eventNumbers, saveEventNumbers } from '../../store/webhooks/event-counters.ts';
import {
  changesOf,
  countWaiting,
  customersConcerned,
  droppedSince,
  holdEnabled,
  insertDeliveries,
  lastChange,
  lockCursor,
  moveCursor,
  setDueBy,
} from '../../store/webhooks/fan-out.ts';
import { DeliveryBatch, type EnqueuedCounts, type FanOutLimits } from './delivery-batch.ts';
import { type DroppedCount, type DroppedCounts, HOUR_MS } from './dropped-counts.ts';

/** Maximum of changes in one span. PAGE: changes whose payloads are read at a time. */
const SPAN_MAX = 500;
const PAGE = 50;

/** Webhooks that one unit of work locks. A single customer may have more. */
const TARGETS_MAX = 500;

const NOTHING: EnqueuedCounts = { events: 0, waiting: 0, dropped: 0, unwritten: 0 };

/** A range of the change log: sequence numbers above `after`, up to and including `until`. */
export interface LogSpan {
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

export interface EnqueueRules {
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

/** Enqueues as many changes of a span as fit and moves the cursor. Lock order: cursor, customer, webhook, delivery. */
export async function enqueue(
  tx: Tx,
  { after, until, owners }: LogSpan,
  rules: EnqueueRules,
): Promise<Enqueued> {
  const { clock, newId, limits, firstDelayMs, droppedCounts } = rules;
  const cursor = await lockCursor(tx);
  // Another process has gone ahead, and may have written dropped deliveries.
  if (cursor.seq > after) droppedCounts.clear();
  if (cursor.seq >= until) return { seq: cursor.seq, counts: NOTHING, dropped: new Map(), counted: [] };
  const from = Math.max(after, cursor.seq);
  const at = Math.max(clock(), cursor.at);
  const dueAt = at + firstDelayMs;
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
  if (batch.due.size > 0) await setDueBy(tx, [...batch.due], dueAt);
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
