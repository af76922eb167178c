import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import type { QueryLogBatch, QueryLogRow } from '../../feed/ports/query-log.ts';
import type { UsageBatch, UsageCount } from '../../feed/ports/usage-sink.ts';
import type { Handover } from './recorder.ts';

/** Counts on their way to the control side, in batches with fixed ids. */
export interface UsageOutbox {
  /** @param at when they were counted, milliseconds since the epoch */
  count(namespaceId: string, at: number, answers: number): void;
  /** Batches that an earlier process could not send. They are sent after the one that may be under way. */
  takeOver(batches: readonly UsageBatch[]): void;
  /**
   * The batch to send now, or null. The same one until it is settled or too old: from here on it does not change. Not to be called while
   * a batch is sent.
   */
  next(): UsageBatch | null;
  /** The batch of `next` arrived, or will never be accepted. */
  settle(): void;
  /** Every batch that has not arrived. One that was never returned by `next` may grow later, under the same id. */
  unsent(): readonly UsageBatch[];
  /** Ids of the batches of `unsent`, in the order in which they arrive. */
  ids(): readonly string[];
  /** Answers that have not arrived. */
  waiting(): number;
}

interface UsageOutboxOptions {
  readonly node: string;
  /** Differs at every start, so that no two batches of a node have one id. */
  readonly boot: string;
  readonly clock: Clock;
  /** Answers of a batch that is no longer sent, because it is too old. */
  readonly onLost: (answers: number) => void;
}

interface FixedBatch {
  readonly batch: UsageBatch;
  /** When it may have been sent first, milliseconds since the epoch. */
  readonly since: number;
}

interface OpenCount extends UsageCount {
  answers: number;
}

const HOUR_MS = 3_600_000;
/** Control forgets ids of batches later, so that no batch is added twice. */
const SENT_MS = LIMITS.usageSpoolDays * 24 * HOUR_MS;

/**
 * Adds counts up by namespace and hour until they are sent. Memory is bounded: above `LIMITS.usageWaitingCounts` a
 * namespace that waits already gets no further hour, and its answers join the hour that waits.
 */
export function createUsageOutbox(options: UsageOutboxOptions): UsageOutbox {
  const { node, boot, clock, onLost } = options;
  const fixed: FixedBatch[] = [];
  /** In the order of their first answer: the first thousand are the next batch, the second thousand the one after. */
  let open: OpenCount[] = [];
  /** The latest open count of each namespace. */
  const latest = new Map<string, OpenCount>();
  let closed = 0;
  let waiting = 0;

  const idOf = (number: number): string => `${boot}.${number}`;
  const batchOf = (number: number, counts: readonly UsageCount[]): UsageBatch => ({
    node,
    batch: idOf(number),
    counts,
  });

  /** @returns the answers of the first batch, which waits no longer */
  function remove(): number {
    const first = fixed.shift();
    const answers = first === undefined ? 0 : answersOf(first.batch);
    waiting -= answers;
    return answers;
  }

  return {
    count(namespaceId, at, answers) {
      const hour = at - (at % HOUR_MS);
      waiting += answers;
      const known = latest.get(namespaceId);
      if (known !== undefined && (known.hour === hour || open.length >= LIMITS.usageWaitingCounts)) {
        known.answers += answers;
        return;
      }
      const count = { namespaceId, hour, answers };
      open.push(count);
      latest.set(namespaceId, count);
    },
    takeOver(batches) {
      for (const batch of batches) {
        fixed.push({ batch, since: newestHour(batch) });
        waiting += answersOf(batch);
      }
    },
    next() {
      while (fixed[0] !== undefined && fixed[0].since < clock() - SENT_MS) onLost(remove());
      if (fixed.length === 0 && open.length > 0) {
        const counts = open.slice(0, LIMITS.usageBatchCounts);
        open = open.slice(LIMITS.usageBatchCounts);
        for (const count of counts) {
          if (latest.get(count.namespaceId) === count) latest.delete(count.namespaceId);
        }
        fixed.push({ batch: batchOf(closed, counts), since: clock() });
        closed++;
      }
      return fixed[0]?.batch ?? null;
    },
    settle: () => void remove(),
    unsent() {
      const batches = fixed.map(({ batch }) => batch);
      for (let at = 0; at < open.length; at += LIMITS.usageBatchCounts) {
        const number = closed + at / LIMITS.usageBatchCounts;
        batches.push(batchOf(number, open.slice(at, at + LIMITS.usageBatchCounts)));
      }
      return batches;
    },
    ids() {
      const ids = fixed.map(({ batch }) => batch.batch);
      const numbers = Math.ceil(open.length / LIMITS.usageBatchCounts);
      for (let ahead = 0; ahead < numbers; ahead++) ids.push(idOf(closed + ahead));
      return ids;
    },
    waiting: () => waiting,
  };
}

function answersOf({ counts }: UsageBatch): number {
  return counts.reduce((sum, { answers }) => sum + answers, 0);
}

function newestHour({ counts }: UsageBatch): number {
  return counts.reduce((newest, { hour }) => Math.max(newest, hour), 0);
}

/** Rows of the query log on their way to the control side. */
interface RowOutbox {
  /** Takes as many rows as there is room for, and counts the others as dropped. */
  take(handover: Pick<Handover, 'totals' | 'rows'>): void;
  /** The batch to send now, or null. The same one until it is settled. */
  next(): QueryLogBatch | null;
  /** The batch of `next` arrived, or will never be accepted. */
  settle(): void;
}

interface RowOutboxOptions {
  readonly node: string;
  /** Differs at every start, so that no two batches of a node have one id. */
  readonly boot: string;
  readonly onDropped: (rows: number) => void;
}

/** Above it only rows of authorised queries wait, so that strangers leave room for them. */
const UNAUTHORISED_WAITING = LIMITS.queryLogRowsWaiting / 2;

/**
 * Rows wait in memory alone, at most `LIMITS.queryLogRowsWaiting`. A namespace has at most as many as there is room left, so that one
 * fills half of it, two fill a third each, and there always is room for another.
 */
export function createRowOutbox({ node, boot, onDropped }: RowOutboxOptions): RowOutbox {
  let rows: QueryLogRow[] = [];
  /** Of each namespace that has some. */
  const waiting = new Map<string, number>();
  let dropped = new Map<string, number>();
  let current: QueryLogBatch | null = null;
  let batches = 0;

  function hasRoom({ namespaceId, resource }: QueryLogRow): boolean {
    if (resource === null && rows.length >= UNAUTHORISED_WAITING) return false;
    return (waiting.get(namespaceId) ?? 0) < LIMITS.queryLogRowsWaiting - rows.length;
  }

  function drop(namespaceId: string, count: number): void {
    dropped.set(namespaceId, (dropped.get(namespaceId) ?? 0) + count);
    onDropped(count);
  }

  return {
    take(handover) {
      for (const total of handover.totals) if (total.dropped > 0) drop(total.namespaceId, total.dropped);
      for (const row of handover.rows()) {
        const { namespaceId } = row;
        if (hasRoom(row)) {
          rows.push(row);
          waiting.set(namespaceId, (waiting.get(namespaceId) ?? 0) + 1);
        } else drop(namespaceId, 1);
      }
    },
    next() {
      if (current === null && (rows.length > 0 || dropped.size > 0)) {
        const sent = rows.slice(0, LIMITS.queryLogBatchRows);
        rows = rows.slice(LIMITS.queryLogBatchRows);
        for (const { namespaceId } of sent) {
          const left = waiting.get(namespaceId)! - 1;
          if (left === 0) waiting.delete(namespaceId);
          else waiting.set(namespaceId, left);
        }
        const told = [...dropped].slice(0, LIMITS.queryLogBatchRows);
        dropped = new Map([...dropped].slice(told.length));
        current = {
          node,
          batch: `${boot}.${batches}`,
          rows: sent,
          dropped: told.map(([namespaceId, count]) => ({ namespaceId, rows: count })),
        };
        batches++;
      }
      return current;
    },
    settle() {
      current = null;
    },
  };
}
