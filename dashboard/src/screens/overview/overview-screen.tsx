import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import { LimitGauges } from '../usage/limit-gauges.tsx';
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
              <div class="cards">
                <LimitGauges usage={usage.value} />
              </div>
              <div class="cards wide-cards">
                <Traffic />
                <Attention />
              </div>
            </>
          ) : null}
        </>
      ) : null}
    </Page>
  );
}
