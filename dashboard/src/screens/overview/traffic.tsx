import { useMemo } from 'preact/hooks';
import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Chart, type ChartData } from '../../ui/chart.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { hoursOf, STATUSES } from './hours.ts';

const PAGE = 100;
/** Rows that the chart is made of at most: ten requests. */
const ROWS_MAX = 1000;
const FRESH_MS = 30_000;
const TONES = { hit: 'good', miss: 'info', expired: 'warn', error: 'bad', refused: 'dim' } as const;

interface Newest {
  readonly rows: readonly QueryLogRow[];
  readonly total: number;
}

async function newestRows(signal: AbortSignal): Promise<Newest> {
  const rows: QueryLogRow[] = [];
  let total = 0;
  for await (const page of api.queryLogs.list({}, { limit: PAGE, signal }).pages()) {
    total = page.meta.total;
    rows.push(...page.items);
    if (rows.length >= ROWS_MAX) break;
  }
  return { rows, total };
}

/** Answers of the last 24 hours by status. */
export function Traffic() {
  const newest = useResource('query-log newest', newestRows, { freshMs: FRESH_MS });
  const data = useMemo<ChartData>(() => {
    const { starts, counts } = hoursOf(newest.value?.rows ?? [], Date.now());
    const series = STATUSES.map((status, at) => ({
      name: t(`overview.status_${status}`),
      tone: TONES[status],
      values: counts[at] ?? [],
    }));
    return { times: starts, series, isStacked: true };
  }, [newest.value]);
  return (
    <section class="card stack" aria-labelledby="traffic">
      <h2 id="traffic">{t('overview.traffic')}</h2>
      {newest.state === 'loading' ? <Loading /> : null}
      {newest.state === 'failed' ? <ErrorNote error={newest.error} again={newest.again} /> : null}
      {newest.state === 'ready' && newest.value.total === 0 ? (
        <p class="dim">{t('overview.noTraffic')}</p>
      ) : null}
      {newest.state === 'ready' && newest.value.total > 0 ? (
        <>
          <Chart
            label={t('overview.traffic')}
            summary={tn('overview.trafficSummary', newest.value.total)}
            data={data}
          />
          <p class="dim">
            {newest.value.rows.length < newest.value.total
              ? t('overview.trafficSome', {
                  shown: count(newest.value.rows.length),
                  total: count(newest.value.total),
                })
              : tn('overview.trafficSummary', newest.value.total)}{' '}
            <a href="/query-log">{t('overview.toQueryLog')}</a>
          </p>
        </>
      ) : null}
    </section>
  );
}
