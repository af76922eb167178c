import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { countRows, type TimeBuckets } from '../query-log/time-buckets.ts';

/** Seconds from the beginning of the first of 24 hours to the present one. */
const DAY = 23 * 3600;
/** So few that a day has steps of an hour. */
const STEPS_MAX = 40;

/**
 * Answers over time and by status, for the chart.
 * @param now milliseconds
 * @param since milliseconds from which on all rows are there. Null: they are those of the last 24 hours, which become 24 steps.
 */
export function stepsOf(
  rows: readonly Pick<QueryLogRow, 'timestamp' | 'status'>[],
  now: number,
  since: number | null,
): TimeBuckets {
  const until = now / 1000;
  return countRows(rows, since === null ? until - DAY : Math.min(since / 1000, until), until, STEPS_MAX);
}
