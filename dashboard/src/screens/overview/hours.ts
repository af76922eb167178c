/** Answers by hour and status, for the chart. */
import type { QueryLogRow, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';

export const STATUSES: readonly QueryStatus[] = ['hit', 'miss', 'expired', 'error', 'refused'];
const HOUR = 3600;
const HOURS = 24;

export interface Hours {
  /** Seconds since 1970 at which each hour begins, ascending. The last one is not over. */
  readonly starts: readonly number[];
  /** In the order of STATUSES. */
  readonly counts: readonly (readonly number[])[];
}

/** @param now milliseconds */
export function hoursOf(rows: readonly Pick<QueryLogRow, 'timestamp' | 'status'>[], now: number): Hours {
  const last = Math.floor(now / 1000 / HOUR);
  const first = last - HOURS + 1;
  const counts = STATUSES.map(() => new Array<number>(HOURS).fill(0));
  for (const { timestamp, status } of rows) {
    const at = Math.floor(Date.parse(timestamp) / 1000 / HOUR) - first;
    const line = counts[STATUSES.indexOf(status)];
    if (line?.[at] !== undefined) line[at] += 1;
  }
  return { starts: Array.from({ length: HOURS }, (_, at) => (first + at) * HOUR), counts };
}
