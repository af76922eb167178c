import { useMemo } from 'preact/hooks';
import type { Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { count, date, percent } from '../../format/format.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';
import { Chart } from '../../ui/chart.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { DeliveryRates } from './delivery-rates.tsx';
import { LimitGauges } from './limit-gauges.tsx';
import { TierTable } from './tier-table.tsx';
import { deletedReads, limitsOf, monthOfReads, namespaceBars, paceOf } from './usage-parts.ts';
import { BulkAdvice } from './write-budget.tsx';

const POLL_MS = 10_000;

export function UsageScreen() {
  const usage = useResource('usage by-day', (signal) => api.usage({ by: 'day', signal }));
  usePoll(POLL_MS, usage.poll);
  const command = `${keyedCurl()} -s ${location.origin}/api/v1/usage`;
  return (
    <Page title={t('usage.title')} actions={<CopyAs variants={[{ name: 'curl', code: command }]} />}>
      {usage.error === undefined ? null : <ErrorNote error={usage.error} again={usage.again} />}
      {usage.state === 'loading' ? <Loading /> : null}
      {usage.value === undefined ? null : <UsageParts usage={usage.value} />}
    </Page>
  );
}

function UsageParts({ usage }: { readonly usage: Usage }) {
  const { namespaces, api_keys: keys, metered, tier } = usage;
  const reads = metered.total_authenticated_queries;
  return (
    <>
      <section class="limits" aria-label={t('usage.limits')}>
        <LimitGauges limits={limitsOf(usage)} />
      </section>
      <BulkAdvice writes={usage.writes} />
      {usage.webhooks.limit === 0 ? <p class="dim">{t('usage.noWebhooks')}</p> : null}
      <p class="dim">{t('usage.others', { namespaces: count(namespaces.used), keys: count(keys.used) })}</p>
      <ReadsOfMonth usage={usage} />
      <section class="stack" aria-labelledby="usage-reads">
        <h2 id="usage-reads">{t('usage.readsTitle')}</h2>
        <p>{t('usage.readsText', { since: date(metered.since), total: count(reads) })}</p>
        <NamespaceBars metered={metered} />
      </section>
      <TierTable own={tier} />
      <DeliveryRates />
    </>
  );
}

/** Bars by day, a line at the number a day that uses the whole allowance, and where the month leads to. */
function ReadsOfMonth({ usage }: { readonly usage: Usage }) {
  const { chart, evenShare } = useMemo(() => monthOfReads(usage), [usage]);
  const pace = paceOf(usage);
  const { metered, period } = usage;
  const even = count(Math.floor(evenShare));
  const values = { total: count(metered.total_authenticated_queries), since: date(period.since) };
  const sentences = [
    t(chart.level === undefined ? 'usage.evenFar' : 'usage.even', { even }),
    pace === null
      ? t('usage.paceUnknown')
      : t('usage.pace', { percent: percent(pace), limit: count(metered.tier_allowance) }),
  ];
  return (
    <section class="card stack" aria-labelledby="usage-days">
      <h2 id="usage-days">{t('usage.days')}</h2>
      <Chart
        label={t('usage.days')}
        summary={[t('usage.daysSummary', values), ...sentences].join(' ')}
        data={chart}
        height={160}
      />
      <p>{sentences[1]}</p>
      <p class="dim">{sentences[0]}</p>
    </section>
  );
}

function NamespaceBars({ metered }: Pick<Usage, 'metered'>) {
  const bars = namespaceBars(metered);
  const deleted = deletedReads(metered);
  return (
    <>
      {bars.length === 0 && deleted === 0 ? <p class="dim">{t('usage.noReads')}</p> : null}
      <ul class="bar-list">
        {bars.map(({ name, count: reads, share }) => (
          <li key={name}>
            <a href={`/query-log?namespace=${encodeURIComponent(name)}`}>{name}</a>
            <span class="bar-track" aria-hidden="true">
              <span style={{ width: `${share * 100}%` }} />
            </span>
            <span>{count(reads)}</span>
          </li>
        ))}
      </ul>
      {deleted > 0 ? <p class="dim">{t('usage.deletedReads', { count: count(deleted) })}</p> : null}
    </>
  );
}
