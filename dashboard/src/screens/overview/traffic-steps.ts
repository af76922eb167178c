/** Answers over time and by status, for the chart. */
import type { QueryLogRow, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';

export const STATUSES: readonly QueryStatus[] = ['hit', 'miss', 'expired', 'error', 'refused'];
const HOUR = 3600;
const HOURS = 24;
/** Seconds that a step may have: a reader can name them. */
const WIDTHS = [10, 60, 300, 900, HOUR] as const;
const STEPS_MAX = 60;

export interface Steps {
  /** Seconds since 1970 at which each step begins, ascending. The last one is not over. */
  readonly starts: readonly number[];
  /** In the order of STATUSES. */
  readonly counts: readonly (readonly number[])[];
}

/**
 * @param now milliseconds
 * @param since milliseconds from which on all rows are there. Null: they are those of the last 24 hours, which become 24 steps.
 */
export function stepsOf(
  rows: readonly Pick<QueryLogRow, 'timestamp' | 'status'>[],
  now: number,
  since: number | null,
): Steps {
  const until = now / 1000;
  const from = since === null ? until - (HOURS - 1) * HOUR : Math.min(since / 1000, until);
  const width = WIDTHS.find((one) => (until - from) / one < STEPS_MAX) ?? HOUR;
  const first = Math.floor(from / width);
  const length = Math.floor(until / width) - first + 1;
  const counts = STATUSES.map(() => new Array<number>(length).fill(0));
  for (const { timestamp, status } of rows) {
    const at = Math.floor(Date.parse(timestamp) / 1000 / width) - first;
    const line = counts[STATUSES.indexOf(status)];
    if (line?.[at] !== undefined) line[at] += 1;
  }
  return { starts: Array.from({ length }, (_, at) => (first + at) * width), counts };
}
