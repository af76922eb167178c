import type { QueryCounts, QueryLogRow, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';
import type { ChartData } from '../../ui/chart.tsx';

export const STATUSES: readonly QueryStatus[] = ['hit', 'miss', 'expired', 'error', 'refused'];
/** The colours of a status, in charts and pills. */
export const TONES = { hit: 'good', miss: 'info', expired: 'warn', error: 'bad', refused: 'dim' } as const;

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
  if (rows.length === 0) return { width: 1, starts: [], counts: STATUSES.map(() => []) };
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { timestamp } of rows) {
    const time = Date.parse(timestamp) / 1000;
    if (time < first) first = time;
    if (time > last) last = time;
  }
  return countRows(rows, first, last, BUCKETS_MAX);
}

/** Counts rows between two times, in Unix seconds, in the shortest steps of which `most` are enough. Others are left out. */
export function countRows(
  rows: readonly Pick<QueryLogRow, 'timestamp' | 'status'>[],
  from: number,
  until: number,
  most: number,
): TimeBuckets {
  const width = WIDTHS.find((one) => (until - from) / one < most - 1) ?? 3_600;
  const first = Math.floor(from / width);
  const length = Math.min(most, Math.floor(until / width) - first + 1);
  const counts = STATUSES.map(() => new Array<number>(length).fill(0));
  for (const { timestamp, status } of rows) {
    const line = counts[STATUSES.indexOf(status)];
    const at = Math.floor(Date.parse(timestamp) / 1000 / width) - first;
    if (line?.[at] !== undefined) line[at] += 1;
  }
  return { width, starts: Array.from({ length }, (_, index) => (first + index) * width), counts };
}

export function chartOf({ starts, counts }: TimeBuckets): ChartData {
  const series = STATUSES.map((name, at) => ({ name, tone: TONES[name], values: counts[at] ?? [] }));
  return { times: starts, series, isStacked: true };
}

/** @param queries by status */
export function chartOfCounts({ since, step_seconds: width, groups }: QueryCounts): ChartData {
  const first = Date.parse(since) / 1000;
  const times = (groups[0]?.counts ?? []).map((_, at) => first + at * width);
  const series = STATUSES.map((name) => ({
    name,
    tone: TONES[name],
    values: groups.find(({ key }) => key === name)?.counts ?? [],
  }));
  return { times, series, isStacked: true };
}

/** The selected seconds as a window: whole buckets, at least one. */
export function windowOf(from: number, to: number, width: number): { since: string; until: string } {
  const since = Math.floor(Math.min(from, to) / width) * width;
  const until = Math.max(since + width, Math.ceil(Math.max(from, to) / width) * width);
  return { since: new Date(since * 1000).toISOString(), until: new Date(until * 1000).toISOString() };
}
