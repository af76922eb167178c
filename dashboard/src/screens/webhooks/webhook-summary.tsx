import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';
import { Time } from '../../ui/time.tsx';
import { StateBadge, SuccessRate, slowText, useFailuresMax } from './state-badge.tsx';

export function WebhookSummary({ webhook }: { readonly webhook: WebhookResource }) {
  const { url, events, scopes, last_triggered_at: last, created_at: made, failure_count: count } = webhook;
  const max = useFailuresMax();
  return (
    <dl class="webhook-facts">
      <div class="whole">
        <dt>{t('webhooks.url')}</dt>
        <dd class="code">{url}</dd>
      </div>
      <div>
        <dt>{t('webhooks.state')}</dt>
        <dd>
          <StateBadge webhook={webhook} />
        </dd>
      </div>
      <div>
        <dt>{t('webhooks.succeeded')}</dt>
        <dd>
          <SuccessRate webhook={webhook} />
        </dd>
      </div>
      <div>
        <dt>{t('webhooks.slow')}</dt>
        <dd>{slowText(webhook)}</dd>
      </div>
      <div>
        <dt>{t('webhooks.failed')}</dt>
        <dd>{t('webhooks.failuresOf', { count, max })}</dd>
      </div>
      <div>
        <dt>{t('webhooks.triggered')}</dt>
        <dd>{last === null ? t('webhooks.never') : <Time at={last} />}</dd>
      </div>
      <div>
        <dt>{t('webhooks.made')}</dt>
        <dd>
          <Time at={made} />
        </dd>
      </div>
      <div>
        <dt>{t('webhooks.namespaces')}</dt>
        <dd>{scopes.namespaces.length === 0 ? t('webhooks.all') : scopes.namespaces.join(', ')}</dd>
      </div>
      <div class="whole">
        <dt>{t('webhooks.events')}</dt>
        <dd>{events.join(', ')}</dd>
      </div>
    </dl>
  );
}
