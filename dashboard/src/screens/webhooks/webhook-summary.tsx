import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';
import { Time } from '../../ui/time.tsx';
import { OutcomeBar } from './outcome-bar.tsx';
import { FailureCount, StateBadge } from './state-badge.tsx';

export function WebhookSummary({ webhook }: { readonly webhook: WebhookResource }) {
  const { url, events, scopes, last_triggered_at: last, created_at: made } = webhook;
  return (
    <dl class="webhook-facts">
      <div>
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
        <dt>{t('webhooks.failed')}</dt>
        <dd>
          <FailureCount webhook={webhook} />
        </dd>
      </div>
      <div>
        <dt>{t('webhooks.last')}</dt>
        <dd>
          <OutcomeBar webhook={webhook} />
        </dd>
      </div>
      <div>
        <dt>{t('webhooks.events')}</dt>
        <dd>{events.join(', ')}</dd>
      </div>
      <div>
        <dt>{t('webhooks.namespaces')}</dt>
        <dd>{scopes.namespaces.length === 0 ? t('webhooks.all') : scopes.namespaces.join(', ')}</dd>
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
    </dl>
  );
}
