import type { Clock } from '../../base/time.ts';
import type { Db, Tx } from '../../store/store.ts';
import {
  changesOf,
  countWaiting,
  customersConcerned,
  droppedSince,
  type EventCountersTable,
  eventCounters,
  type HeldCursor,
  hastenFirst,
  holdEnabled,
  insertDeliveries,
  lastChange,
  lockCursor,
  moveCursor,
  saveEventNumbers,
  setBehind,
  setDueBy,
} from '../../store/webhooks/fan-out.ts';
import { DeliveryBatch, type EnqueuedCounts, type FanOutLimits, type Share } from './delivery-batch.ts';
import type { DroppedCount, DroppedCounts } from './dropped-counts.ts';

const HOUR_MS = 3_600_000;

/** Maximum of changes in one span. PAGE: changes whose payloads are read at a time. */
const SPAN_MAX = 500;
const PAGE = 50;

/** Webhooks that one unit of work locks. A single customer may have more. */
export const TARGETS_MAX = 500;

/** One customer gets this part of a unit, so that others are in it too. */
const SHARE = 4;

/** Changes that one turn looks through. */
const TURN_MAX = 5000;

const NOTHING: EnqueuedCounts = { events: 0, waiting: 0, dropped: 0, unwritten: 0 };

/** A range of the change log: sequence numbers above `after`, up to and including `until`. */
export interface LogSpan {
  readonly after: number;
  readonly until: number;
  /** Customers with an enabled webhook and an event in the span. */
  readonly owners: readonly string[];
  readonly isLast: boolean;
  /** Of the log. */
  readonly epoch: string;
}

/** The database is another one: it was restored, or a standby that lacks the last commits took its place. */
export class OtherEpochError extends Error {
  constructor() {
    super('the change log has another epoch than the position of the fan-out');
    this.name = 'OtherEpochError';
  }
}

/**
 * Up to `SPAN_MAX` changes after `after`; fewer when they concern more than `TARGETS_MAX` webhooks. Null: none.
 * @param epoch of `after`; null: any
 * @throws OtherEpochError
 */
export async function nextSpan(db: Db, after: number, epoch: string | null = null): Promise<LogSpan | null> {
  for (let size = SPAN_MAX; ; size = Math.floor(size / 2)) {
    const { last: until, epoch: found } = await lastChange(db, after, size);
    if (epoch !== null && found !== epoch) throw new OtherEpochError();
    if (until === null) return null;
    const concerned = await customersConcerned(db, after, until);
    const targets = [...concerned.values()].reduce((sum, count) => sum + count, 0);
    if (targets > TARGETS_MAX && concerned.size > 1) continue;
    return { after, until, owners: [...concerned.keys()], isLast: until < after + size, epoch: found };
  }
}

export interface EnqueueRules {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly limits: FanOutLimits;
  readonly firstDelayMs: number;
  readonly droppedCounts: DroppedCounts;
}

export interface Enqueued {
  readonly counts: EnqueuedCounts;
  readonly dropped: ReadonlyMap<string, number>;
  /** The last number of an event of each of the customers. */
  readonly numbers: ReadonlyMap<string, number>;
  /** The caller stores these after the commit: a unit that runs again counts again. */
  readonly counted: readonly DroppedCount[];
}

interface EnqueuedSpan extends Enqueued {
  /** The new cursor. Beyond the span when another process has gone ahead. */
  readonly seq: number;
  /** Whether a customer of the span is behind now. */
  readonly isBehind: boolean;
}

const NONE: Enqueued = { counts: NOTHING, dropped: new Map(), numbers: new Map(), counted: [] };

/** Clocks of control processes that differ by less only make a first attempt this much later. Milliseconds. */
export const SKEW_MS = 1000;

/** Holds the cursor until the unit ends. @throws OtherEpochError where the log is another one by now than that of `epoch` */
export async function holdCursor(tx: Tx, epoch: string | null): Promise<HeldCursor> {
  const cursor = await lockCursor(tx);
  if (cursor.epoch !== epoch) throw new OtherEpochError();
  return cursor;
}

/**
 * Enqueues as many changes of a span as fit, and moves the cursor. Customers with more than their share fall behind, and those who
 * are behind are left to their turn. Lock order: cursor, customer, webhook, delivery.
 * @throws OtherEpochError
 */
export async function enqueue(
  tx: Tx,
  { after, until, owners, epoch }: LogSpan,
  rules: EnqueueRules,
): Promise<EnqueuedSpan> {
  const cursor = await holdCursor(tx, epoch);
  if (cursor.seq >= until) return { ...NONE, seq: cursor.seq, isBehind: false };
  const counters = await eventCounters(tx, owners);
  const inStep = owners.filter((owner) => (counters.get(owner)?.behind ?? null) === null);
  const isBehind = inStep.length < owners.length;
  if (inStep.length === 0) {
    await moveCursor(tx, until, cursor.at);
    return { ...NONE, seq: until, isBehind };
  }
  const { rows, bytes } = rules.limits;
  const part = {
    owners: inStep,
    counters,
    after: Math.max(after, cursor.seq),
    until,
    share: { rows: rows / SHARE, bytes: bytes / SHARE },
  };
  const { seq, at, behind, enqueued } = await enqueuePart(tx, part, cursor.at, rules);
  for (const [owner, told] of behind) await setBehind(tx, owner, told);
  await moveCursor(tx, seq, at);
  return { ...enqueued, seq, isBehind: isBehind || behind.size > 0 };
}

/** The turn of a customer who is behind: as many of the changes up to the cursor as fit in a unit. Locks as `enqueue` does. */
export async function enqueueTurn(tx: Tx, owner: string, rules: EnqueueRules): Promise<Enqueued> {
  const cursor = await lockCursor(tx);
  const counters = await eventCounters(tx, [owner]);
  const after = counters.get(owner)?.behind ?? null;
  // Another process was faster, or the customer is gone.
  if (after === null) return NONE;
  const until = Math.min(after + TURN_MAX, cursor.seq);
  const part = { owners: [owner], counters, after, until, share: null };
  const { seq, at, enqueued } = await enqueuePart(tx, part, cursor.at, rules);
  await setBehind(tx, owner, seq >= cursor.seq ? null : seq);
  await moveCursor(tx, cursor.seq, at);
  return enqueued;
}

/** Changes of some customers in a range of the log. */
interface LogPart {
  readonly owners: readonly string[];
  readonly counters: ReadonlyMap<string, EventCountersTable>;
  readonly after: number;
  readonly until: number;
  readonly share: Share | null;
}

interface EnqueuedPart {
  /** The last `seq` that was processed. */
  readonly seq: number;
  readonly at: number;
  readonly behind: ReadonlyMap<string, number>;
  readonly enqueued: Enqueued;
}

/** @param latest the time of the cursor, which the unit holds */
async function enqueuePart(
  tx: Tx,
  { owners, counters, after, until, share }: LogPart,
  latest: number,
  { clock, newId, limits, firstDelayMs, droppedCounts }: EnqueueRules,
): Promise<EnqueuedPart> {
  const now = clock();
  const at = Math.max(now, latest);
  // A clock that was an hour ahead for a moment must not make all first attempts of an hour late.
  const wasAhead = at - now > SKEW_MS;
  const dueAt = (wasAhead ? now : at) + firstDelayMs;
  const numbers = new Map([...counters].map(([owner, { seq }]) => [owner, seq]));
  droppedCounts.check(numbers);
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
  const batch = new DeliveryBatch({
    at,
    dueAt,
    newId,
    limits,
    share,
    targets,
    waiting,
    numbers,
    droppedCapacity,
  });
  const seq = await fillBatch(tx, batch, owners, after, until);
  await insertDeliveries(tx, batch.rows);
  if (batch.due.size > 0) {
    // Those from before are due later by that clock, and are to be sent before these.
    if (wasAhead) await hastenFirst(tx, [...batch.due], dueAt);
    await setDueBy(tx, [...batch.due], dueAt);
  }
  await saveEventNumbers(tx, batch.numbers);
  const { counts, dropped, behind } = batch;
  return {
    seq,
    at,
    behind,
    enqueued: { counts, dropped, numbers: new Map([...numbers, ...batch.numbers]), counted },
  };
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
    const inStep = owners.filter((owner) => !batch.behind.has(owner));
    const changes = inStep.length === 0 ? [] : await changesOf(tx, inStep, seq, until, PAGE);
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
