import { useMemo } from 'preact/hooks';
import type { QueryCounts } from '../../../../sdk/src/uqrp-sdk.ts';
import { count, dateTime } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Chart } from '../../ui/chart.tsx';
import { chartOfCounts } from '../query-log/time-buckets.ts';

/** Answers of the window by status. */
export function Traffic({ queries }: { readonly queries: QueryCounts }) {
  const data = useMemo(() => chartOfCounts(queries), [queries]);
  const title = t(`overview.traffic${queries.window}`);
  const { total, dropped, since } = queries;
  const summary = tn('overview.trafficSummary', total, { since: dateTime(since) });
  return (
    <section class="card stack" aria-labelledby="traffic">
      <h2 id="traffic">{title}</h2>
      {total === 0 ? (
        <div class="empty">
          <p>{t('overview.noTraffic')}</p>
          <p class="dim">{t('overview.notLogged')}</p>
        </div>
      ) : (
        <>
          <Chart label={title} summary={summary} data={data} height={220} />
          <p class="dim">
            {summary} {dropped > 0 ? `${tn('queryLog.dropped', dropped)} ` : ''}
            <a href="/query-log">{t('overview.toQueryLog')}</a>
          </p>
        </>
      )}
    </section>
  );
}

/** The resources that were asked for most. */
export function TopResources({ resources }: { readonly resources: QueryCounts }) {
  const most = Math.max(1, ...resources.groups.map(({ total }) => total));
  return (
    <section class="card stack" aria-labelledby="top-resources">
      <h2 id="top-resources">{t('overview.topResources')}</h2>
      {resources.groups.length === 0 ? <p class="dim">{t('overview.noResources')}</p> : null}
      <ul class="bar-list">
        {resources.groups.map(({ key, total }) => (
          <li key={key}>
            {key === null ? (
              <span class="dim">{t('overview.otherResources')}</span>
            ) : (
              <a href={`/records?resource=${encodeURIComponent(key)}`}>{key}</a>
            )}
            <span class="bar-track" aria-hidden="true">
              <span style={{ width: `${(total / most) * 100}%` }} />
            </span>
            <span class="number">{count(total)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
