import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { outcomesOf } from './webhook-state.ts';

const SHOWN = 50;
const FRESH_MS = 10_000;

/** How the last 50 deliveries ended, the newest at the right. */
export function OutcomeBar({ webhook }: { readonly webhook: WebhookResource }) {
  const { id, last_triggered_at: last } = webhook;
  const recent = useResource(
    // Each attempt makes another key, so the marks are read again.
    `webhook-outcomes ${id} ${last}`,
    async (signal) =>
      outcomesOf((await api.webhooks.deliveries(id, {}, { limit: SHOWN, signal }).page()).items),
    { freshMs: FRESH_MS },
  );
  if (recent.value === undefined) return <span class="dim">{recent.state === 'failed' ? '?' : '…'}</span>;
  const { marks, succeeded } = recent.value;
  if (marks.length === 0) return <span class="dim">{t('webhooks.noDeliveries')}</span>;
  const label = t('webhooks.outcomes', { succeeded, count: marks.length });
  return (
    <span class="outcomes" role="img" aria-label={label} title={label}>
      {marks.map((status, at) => (
        <span key={at} class={`outcome ${status}`} />
      ))}
    </span>
  );
}
