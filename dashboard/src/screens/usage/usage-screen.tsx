import type { Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { count, date } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { CopyAs } from '../../ui/copy-as.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { DeliveryRates } from './delivery-rates.tsx';
import { LimitGauges } from './limit-gauges.tsx';
import { TierTable } from './tier-table.tsx';
import { deletedReads, limitsOf, namespaceBars } from './usage-parts.ts';
import { BulkAdvice } from './write-budget.tsx';

const POLL_MS = 10_000;

export function UsageScreen() {
  const usage = useResource('usage', (signal) => api.usage({ signal }));
  usePoll(POLL_MS, usage.again);
  const command = `curl -s ${location.origin}/api/v1/usage -H "Authorization: Bearer $UQRP_TOKEN"`;
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
      <section class="cards" aria-label={t('usage.limits')}>
        <LimitGauges limits={limitsOf(usage)} />
      </section>
      <BulkAdvice writes={usage.writes} />
      <p class="dim">{t('usage.others', { namespaces: count(namespaces.used), keys: count(keys.used) })}</p>
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
