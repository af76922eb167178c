import { useCallback, useMemo, useRef } from 'preact/hooks';
import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Chart } from '../../ui/chart.tsx';
import { bucketRows, chartOf, windowOf } from './time-buckets.ts';
import { useSeconds } from './use-seconds.ts';

export interface LogChartProps {
  readonly rows: readonly QueryLogRow[];
  readonly isLive: boolean;
  readonly onWindow: (window: { since: string; until: string }) => void;
}

/** The rows over time. Live it is drawn once a second, however many rows come. Dragging chooses a window. */
export function LogChart({ rows, isLive, onWindow }: LogChartProps) {
  const seconds = useSeconds(isLive);
  const latest = useRef(rows);
  latest.current = rows;
  const isEmpty = rows.length === 0;
  const buckets = useMemo(() => bucketRows(latest.current), [isLive ? seconds : rows, isLive, isEmpty]);
  const data = useMemo(() => chartOf(buckets), [buckets]);
  const choose = useCallback(
    (from: number, to: number) => onWindow(windowOf(from, to, buckets.width)),
    [buckets.width, onWindow],
  );
  const first = buckets.starts[0];
  const last = buckets.starts.at(-1);
  const summary =
    first === undefined || last === undefined
      ? t('queryLog.chartNothing')
      : tn('queryLog.chartSummary', rows.length, {
          from: dateTime(first * 1000),
          until: dateTime((last + buckets.width) * 1000),
        });
  return <Chart label={t('queryLog.chart')} summary={summary} data={data} height={120} onRange={choose} />;
}
