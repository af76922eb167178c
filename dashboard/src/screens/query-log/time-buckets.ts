import type { QueryLogRow, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';
import { STATUSES } from './filters.ts';

export interface TimeBuckets {
  /** Seconds in one. */
  readonly width: number;
  /** Unix seconds at which each begins, ascending, without a gap. */
  readonly starts: readonly number[];
  /** Rows in each, by status, in the order of STATUSES. */
  readonly counts: readonly (readonly number[])[];
}

/** Widths that a reader can name: a second to an hour. */
const WIDTHS = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600] as const;
const BUCKETS_MAX = 120;

/** Counts rows over their own span, in at most 120 steps. */
export function bucketRows(rows: readonly QueryLogRow[]): TimeBuckets {
  const times = rows.map((row) => Date.parse(row.timestamp) / 1000);
  if (times.length === 0) return { width: 1, starts: [], counts: STATUSES.map(() => []) };
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const time of times) {
    if (time < first) first = time;
    if (time > last) last = time;
  }
  const width = WIDTHS.find((one) => (last - first) / one < BUCKETS_MAX - 1) ?? 3_600;
  const from = Math.floor(first / width);
  const length = Math.min(BUCKETS_MAX, Math.floor(last / width) - from + 1);
  const counts = STATUSES.map(() => new Array<number>(length).fill(0));
  for (const [index, time] of times.entries()) {
    const line = counts[STATUSES.indexOf(statusOf(rows[index]))];
    const at = Math.floor(time / width) - from;
    if (line !== undefined && at < length) line[at] = (line[at] ?? 0) + 1;
  }
  return { width, starts: Array.from({ length }, (_, index) => (from + index) * width), counts };
}

function statusOf(row: QueryLogRow | undefined): QueryStatus {
  return row?.status ?? 'error';
}

/** The selected seconds as a window: whole buckets, at least one. */
export function windowOf(from: number, to: number, width: number): { since: string; until: string } {
  const since = Math.floor(Math.min(from, to) / width) * width;
  const until = Math.max(since + width, Math.ceil(Math.max(from, to) / width) * width);
  return { since: new Date(since * 1000).toISOString(), until: new Date(until * 1000).toISOString() };
}
