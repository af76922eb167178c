import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Gauge } from '../../ui/gauge.tsx';
import { triedWithinHour } from './usage-parts.ts';

/** Attempts of a webhook in an hour, unless the server says another number. */
const ATTEMPTS_MAX = 600;
const READ_MAX = 100;
const FRESH_MS = 10_000;

/** Deliveries of each webhook in the last hour. */
export function DeliveryRates() {
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }));
  if (webhooks.error !== undefined) return <ErrorNote error={webhooks.error} again={webhooks.again} />;
  const list = webhooks.value ?? [];
  if (list.length === 0) return null;
  return (
    <section class="stack" aria-labelledby="usage-deliveries">
      <h2 id="usage-deliveries">{t('usage.deliveries')}</h2>
      <p class="dim">{t('usage.deliveriesText')}</p>
      <div class="cards">
        {list.map((webhook) => (
          <DeliveryRate key={webhook.id} webhook={webhook} />
        ))}
      </div>
    </section>
  );
}

function DeliveryRate({ webhook }: { readonly webhook: WebhookResource }) {
  const max = useMeta().value?.limits.webhook_attempts_per_hour ?? ATTEMPTS_MAX;
  const hour = useResource(
    `delivery-rate ${webhook.id}`,
    async (signal) => {
      const page = await api.webhooks.deliveries(webhook.id, {}, { limit: READ_MAX, signal }).page();
      return triedWithinHour(page.items, page.next !== null, Date.now());
    },
    { freshMs: FRESH_MS },
  );
  if (hour.value === undefined) return null;
  const { count: tried, isAtLeast } = hour.value;
  const values = { used: count(tried), limit: count(max) };
  return (
    <Gauge
      label={webhook.name}
      value={tried}
      max={max}
      text={t(isAtLeast ? 'usage.atLeast' : 'usage.of', values)}
    />
  );
}
