import { LIMITS } from '../../base/limits.ts';
import type { QueryLogBatch, QueryLogRow } from '../../feed/ports/query-log.ts';
import type { Handover } from './handover.ts';

/** Rows of the query log on their way to the control side. */
export interface RowOutbox {
  /** Takes as many rows as there is room for, and counts the others as dropped. */
  take(handover: Pick<Handover, 'totals' | 'rows'>): void;
  /** The batch to send now, or null. The same one until it is settled. */
  next(): QueryLogBatch | null;
  /** The batch of `next` arrived, or will never be accepted. */
  settle(): void;
}

export interface RowOutboxOptions {
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
