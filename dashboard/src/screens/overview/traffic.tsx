import { useMemo } from 'preact/hooks';
import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { count, dateTime } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Chart } from '../../ui/chart.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { chartOf } from '../query-log/time-buckets.ts';
import { stepsOf } from './traffic-steps.ts';

const PAGE = 100;
/** Rows that the chart is made of at most: ten requests. */
const ROWS_MAX = 1000;
const FRESH_MS = 30_000;

interface Newest {
  readonly rows: readonly QueryLogRow[];
  /** Of 24 hours, as the server has counted them. */
  readonly total: number;
  /** Queries whose rows a node could not keep. */
  readonly dropped: number;
  /** Time of the oldest row when there are older ones. */
  readonly since: string | null;
}

async function newestRows(signal: AbortSignal): Promise<Newest> {
  const rows: QueryLogRow[] = [];
  let counts = { total: 0, dropped: 0 };
  for await (const page of api.queryLogs.list({}, { limit: PAGE, signal }).pages()) {
    counts = page.meta;
    rows.push(...page.items);
    if (page.next !== null && rows.length >= ROWS_MAX)
      return { ...counts, rows, since: rows.at(-1)?.timestamp ?? null };
  }
  return { ...counts, rows, since: null };
}

/** Answers of the last 24 hours by status. The API has no sums by hour: of many answers, the chart has the newest alone. */
export function Traffic() {
  const newest = useResource('query-log newest', newestRows, { freshMs: FRESH_MS });
  const { value } = newest;
  const data = useMemo(() => {
    const since = value?.since ?? null;
    return chartOf(stepsOf(value?.rows ?? [], Date.now(), since === null ? null : Date.parse(since)));
  }, [value]);
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
          <Chart label={t('overview.traffic')} summary={coverageOf(newest.value)} data={data} />
          <p class="dim">
            {coverageOf(newest.value)} <a href="/query-log">{t('overview.toQueryLog')}</a>
          </p>
        </>
      ) : null}
    </section>
  );
}

/** How many answers there were, and which of them the chart has. */
function coverageOf({ rows, total, dropped, since }: Newest): string {
  const sentences = [tn('overview.trafficSummary', total)];
  if (since !== null)
    sentences.push(t('overview.trafficSome', { shown: count(rows.length), since: dateTime(since) }));
  if (dropped > 0) sentences.push(tn('queryLog.dropped', dropped));
  return sentences.join(' ');
}
