import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';

/** Rows that the page keeps: more make a table that nobody reads and a chart that is slow. */
export const ROWS_MAX = 5_000;

/** The newest first. An id ascends with the time of arrival, and fits a double exactly. */
function newestFirst(a: QueryLogRow, b: QueryLogRow): number {
  return Number(b.id) - Number(a.id);
}

/**
 * Both lists as one, each row once, the newest `max`. A row can come twice: by the stream, and by the page of rows that is read when
 * the stream opens.
 */
export function mergeRows(
  kept: readonly QueryLogRow[],
  incoming: readonly QueryLogRow[],
  max: number = ROWS_MAX,
): readonly QueryLogRow[] {
  if (incoming.length === 0) return kept;
  const fresh = incoming.length === 1 ? [...incoming] : [...incoming].sort(newestFirst);
  const newest = kept[0];
  const oldest = fresh.at(-1);
  if (newest === undefined || oldest === undefined || Number(oldest.id) > Number(newest.id)) {
    return unique(fresh).concat(kept).slice(0, max);
  }
  return unique([...kept, ...fresh].sort(newestFirst)).slice(0, max);
}

function unique(sorted: readonly QueryLogRow[]): QueryLogRow[] {
  return sorted.filter((row, index) => row.id !== sorted[index - 1]?.id);
}

/** Arrivals of the last seconds, as a rate. */
export interface Rate {
  /** @param now milliseconds */
  add(count: number, now: number): void;
  /** Rows a second, over the last ten seconds or the time since the first `add`, whichever is shorter. */
  perSecond(now: number): number;
}

const RATE_SPAN_S = 10;

export function createRate(): Rate {
  const counts = new Map<number, number>();
  let began: number | null = null;
  return {
    add(count, now) {
      began ??= now;
      const second = Math.floor(now / 1000);
      counts.set(second, (counts.get(second) ?? 0) + count);
      for (const old of counts.keys()) if (old <= second - RATE_SPAN_S) counts.delete(old);
    },
    perSecond(now) {
      if (began === null) return 0;
      const first = Math.floor(now / 1000) - RATE_SPAN_S;
      let sum = 0;
      for (const [second, count] of counts) if (second > first) sum += count;
      return sum / Math.min(RATE_SPAN_S, Math.max(1, (now - began) / 1000));
    },
  };
}
