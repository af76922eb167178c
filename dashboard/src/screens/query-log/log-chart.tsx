import { useCallback, useMemo } from 'preact/hooks';
import type { QueryCounts } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { type Resource, useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { dateTime } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Chart } from '../../ui/chart.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { type Filters, filtersHere, streamFilter } from './filters.ts';
import { chartOfCounts, windowOf } from './time-buckets.ts';

const LIVE_POLL_MS = 5_000;

/** Counts of the last 24 hours in steps of ten minutes: all queries, however many rows the page has read. */
export function useLogCounts(filters: Filters, isLive: boolean): Resource<QueryCounts> {
  const asked = streamFilter(filters);
  const counts = useResource(`query-log counts ${JSON.stringify(asked)}`, (signal) =>
    api.queryLogs.counts({ ...asked, window: '24h', step: '10m' }, { signal }),
  );
  usePoll(isLive ? LIVE_POLL_MS : null, counts.poll);
  return counts;
}

export interface LogChartProps {
  readonly counts: Resource<QueryCounts>;
  readonly filters: Filters;
  readonly onWindow: (window: { since: string; until: string }) => void;
}

/** The queries of the whole day. Dragging chooses a window, which stays marked. */
export function LogChart({ counts, filters, onWindow }: LogChartProps) {
  const { value } = counts;
  const data = useMemo(() => (value === undefined ? null : chartOfCounts(value)), [value]);
  const width = value?.step_seconds ?? 1;
  const choose = useCallback(
    (from: number, to: number) => onWindow(windowOf(from, to, width)),
    [width, onWindow],
  );
  if (counts.state === 'failed') return <ErrorNote error={counts.error} again={counts.again} />;
  if (value === undefined || data === null) return <div class="log-chart-room" />;
  const { since, until } = filters;
  const seconds = (time: string): number => Date.parse(time) / 1000;
  const chosen =
    since === null && until === null
      ? undefined
      : ([seconds(since ?? value.since), seconds(until ?? value.until)] as const);
  const summary = tn('queryLog.chartSummary', value.total, {
    from: dateTime(value.since),
    until: dateTime(value.until),
  });
  return (
    <div class="log-chart">
      <Chart
        label={t('queryLog.chart')}
        summary={summary}
        data={data}
        height={120}
        onRange={choose}
        {...(chosen === undefined ? {} : { chosen })}
      />
      <p class="dim">{t(filtersHere(filters) ? 'queryLog.chartHelpPartly' : 'queryLog.chartHelp')}</p>
    </div>
  );
}
