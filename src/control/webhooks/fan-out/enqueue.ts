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
import { type Enqueued, type FanoutBounds, FanoutPlan } from './delivery-batch.ts';

/** Changes looked at together, and such as are read whole together. */
const BATCH = 500;
const PAGE = 50;

/** Webhooks that one unit of work holds, those of a single customer aside. */
const TARGETS_MAX = 500;

/** Webhooks whose histories are remembered. */
const HISTORIES_MAX = 10_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const NOTHING: Enqueued = { events: 0, waiting: 0, dropped: 0, unwritten: 0 };

/** Changes that one unit of work is about. */
export interface Span {
  readonly after: number;
  /** The last of them. */
  readonly until: number;
  /** Customers who may have to be told of some of them. None: nothing is to be enqueued. */
  readonly owners: readonly string[];
  /** Whether there were no more when it was looked at. */
  readonly isLast: boolean;
}

/**
 * The next changes after `after`, up to `BATCH`, and fewer where the webhooks concerned would be too many for one unit.
 *
 * @returns null when there are none
 */
export async function nextSpan(db: Db, after: number): Promise<Span | null> {
  for (let size = BATCH; ; size = Math.floor(size / 2)) {
    const until = await lastChange(db, after, size);
    if (until === null) return null;
    const concerned = await customersConcerned(db, after, until);
    const targets = [...concerned.values()].reduce((sum, count) => sum + count, 0);
    if (targets > TARGETS_MAX && concerned.size > 1) continue;
    return { after, until, owners: [...concerned.keys()], isLast: until < after + size };
  }
}

/** How many dropped deliveries a history still takes, as counted at `at`; when the oldest of them was made. */
interface CountedHistory {
  readonly id: string;
  readonly room: number;
  readonly at: number;
  /** Null: there is none. */
  readonly oldest: number | null;
}

/** How many dropped deliveries the history of a webhook still takes, and until when that may be believed. */
interface History {
  readonly room: number;
  readonly until: number;
}

/** Histories as the database has them, so that they are not counted again for every unit of a flood. */
export class Histories {
  readonly #known = new Map<string, History>();

  /** Others may have written to them. */
  clear(): void {
    this.#known.clear();
  }

  /** @returns null when it has to be counted */
  room(id: string, at: number): number | null {
    const known = this.#known.get(id);
    return known === undefined || at >= known.until ? null : known.room;
  }

  /** What a committed unit counted. */
  learn(counted: readonly CountedHistory[]): void {
    for (const { id, room, at, oldest } of counted) {
      if (this.#known.size >= HISTORIES_MAX) this.#known.clear();
      this.#known.set(id, { room, until: Math.max((oldest ?? at) + HOUR_MS, at + MINUTE_MS) });
    }
  }

  /** Dropped deliveries that are committed. */
  fill(dropped: ReadonlyMap<string, number>): void {
    for (const [id, count] of dropped) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, room: known.room - count });
    }
  }
}

export interface UnitRules {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly bounds: FanoutBounds;
  readonly firstDelayMs: number;
  readonly histories: Histories;
}

/** What a unit of work came to. */
interface Done {
  /** Up to where the log is judged now; past the span when another process has gone ahead. */
  readonly seq: number;
  readonly counts: Enqueued;
  /** Dropped deliveries that it wrote, of each webhook that has any. */
  readonly dropped: ReadonlyMap<string, number>;
  /** Histories that it counted, to be remembered once it is committed: a unit that is run again counts again. */
  readonly counted: readonly CountedHistory[];
}

/**
 * Enqueues for the changes of a span, as many as fit into one unit of work. Rows are taken in the order cursor, customer,
 * webhook, delivery.
 */
export async function enqueue(tx: Tx, { after, until, owners }: Span, rules: UnitRules): Promise<Done> {
  const { clock, newId, bounds, firstDelayMs, histories } = rules;
  const cursor = await lockCursor(tx);
  // Another process has gone ahead, and may have filled them.
  if (cursor.seq > after) histories.clear();
  if (cursor.seq >= until) return { seq: cursor.seq, counts: NOTHING, dropped: new Map(), counted: [] };
  const from = Math.max(after, cursor.seq);
  const at = Math.max(clock(), cursor.at);
  const dueAt = at + firstDelayMs;
  const numbers = await eventNumbers(tx, owners);
  const targets = await holdEnabled(tx, owners);
  const ids = targets.map(({ id }) => id);
  const waiting = ids.length === 0 ? new Map<string, number>() : await countWaiting(tx, ids);
  const counted: CountedHistory[] = [];
  const droppedRoom = async (id: string): Promise<number> => {
    const known = histories.room(id, at);
    if (known !== null) return known;
    const history = await countHistory(tx, id, at, bounds);
    counted.push(history);
    return history.room;
  };
  const plan = new FanoutPlan({ at, dueAt, newId, bounds, targets, waiting, numbers, droppedRoom });
  const seq = await fill(tx, plan, owners, from, until);
  await insertDeliveries(tx, plan.rows);
  if (plan.due.size > 0) await setDueBy(tx, [...plan.due], dueAt);
  await saveEventNumbers(tx, plan.numbers);
  await moveCursor(tx, seq, at);
  return { seq, counts: plan.counts, dropped: plan.dropped, counted };
}

/** Gives the plan the changes of a span until it is full. @returns the last `seq` that it needs no more */
async function fill(
  tx: Tx,
  plan: FanoutPlan,
  owners: readonly string[],
  after: number,
  until: number,
): Promise<number> {
  for (let seq = after; ; ) {
    const changes = await changesOf(tx, owners, seq, until, PAGE);
    for (const change of changes) {
      if (!(await plan.take(change))) return change.seq - 1;
      ({ seq } = change);
    }
    if (changes.length < PAGE) return until;
  }
}

/** How many more dropped deliveries of a webhook may be made at `at`, for the hour that ends then. */
async function countHistory(
  tx: Tx,
  id: string,
  at: number,
  { droppedKept }: FanoutBounds,
): Promise<CountedHistory> {
  const { count, oldest } = await droppedSince(tx, id, at - HOUR_MS, droppedKept);
  return { id, room: droppedKept - count, at, oldest };
}
