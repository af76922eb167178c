import type { QueryCounts, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';
import type { ChartData } from '../../ui/chart.tsx';

export const STATUSES: readonly QueryStatus[] = ['hit', 'miss', 'expired', 'error', 'refused'];
/** The colours of a status, in charts and pills. */
export const TONES = { hit: 'good', miss: 'info', expired: 'warn', error: 'bad', refused: 'dim' } as const;

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
