import type { Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Gauge } from '../../ui/gauge.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import { WriteBudget } from '../usage/write-budget.tsx';
import { Attention } from './attention.tsx';
import { Checklist } from './checklist.tsx';
import { Traffic } from './traffic.tsx';

export function OverviewScreen() {
  const usage = useResource('usage', (signal) => api.usage({ signal }));
  const namespaces = useNamespaces();
  const failed = usage.state === 'failed' ? usage : namespaces.state === 'failed' ? namespaces : null;
  return (
    <Page title={t('overview.title')}>
      {failed === null ? null : <ErrorNote error={failed.error} again={failed.again} />}
      {failed === null && (usage.state === 'loading' || namespaces.state === 'loading') ? <Loading /> : null}
      {usage.state === 'ready' && namespaces.state === 'ready' ? (
        <>
          <Checklist usage={usage.value} namespaces={namespaces.value} />
          {/* A new account has nothing to count yet. */}
          {usage.value.records.used > 0 || usage.value.webhooks.used > 0 ? (
            <>
              <Gauges usage={usage.value} />
              <div class="cards wide-cards">
                <Traffic />
                <Attention namespaces={namespaces.value} />
              </div>
            </>
          ) : null}
        </>
      ) : null}
    </Page>
  );
}

function Gauges({ usage }: { readonly usage: Usage }) {
  const { records, webhooks, metered } = usage;
  const of = (used: number, limit: number): string =>
    t('overview.of', { used: count(used), limit: count(limit) });
  return (
    <div class="cards">
      <Gauge
        label={t('nav.records')}
        value={records.used}
        max={records.limit}
        text={of(records.used, records.limit)}
      />
      <Gauge
        label={t('nav.webhooks')}
        value={webhooks.used}
        max={webhooks.limit}
        text={of(webhooks.used, webhooks.limit)}
      />
      <Gauge
        label={t('overview.reads')}
        value={metered.total_authenticated_queries}
        max={metered.tier_allowance}
        text={of(metered.total_authenticated_queries, metered.tier_allowance)}
        note={t('overview.estimated')}
      />
      <WriteBudget writes={usage.writes} />
    </div>
  );
}
