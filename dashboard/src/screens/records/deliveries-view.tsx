import type { DeliveryResource, RecordResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';

const TONES = { succeeded: 'good', pending: 'warn', failed: 'bad', dropped: 'bad' } as const;
/** A write is handed to webhooks within this time. */
const WITHIN_MS = 30_000;

export interface DeliveriesViewProps {
  readonly record: RecordResource;
}

interface Seen {
  readonly webhook: WebhookResource;
  readonly deliveries: readonly DeliveryResource[];
}

/** What webhooks were told around the last write of the record. A delivery does not say which record it was about. */
export function DeliveriesView({ record }: DeliveriesViewProps) {
  const seen = useResource(`record-deliveries ${record.id} ${record.updated_at}`, async (signal) => {
    const webhooks = (await api.webhooks.list({ signal })).filter(
      ({ scopes }) => scopes.namespaces.length === 0 || scopes.namespaces.includes(record.namespace),
    );
    return await Promise.all(webhooks.map((webhook) => deliveriesOf(webhook, record, signal)));
  });
  if (seen.state === 'loading') return <Loading />;
  if (seen.state === 'failed') return <ErrorNote error={seen.error} again={seen.again} />;
  if (seen.value.length === 0) return <p>{t('records.noWebhooks')}</p>;
  return (
    <>
      <p class="dim">{t('records.deliveriesNote')}</p>
      {seen.value.map(({ webhook, deliveries }) => (
        <section key={webhook.id} class="card">
          <h3>
            <a href={`/webhooks/${webhook.id}`}>{webhook.name}</a>
          </h3>
          {deliveries.length === 0 ? <p>{t('records.noDeliveries')}</p> : null}
          <ul class="plain">
            {deliveries.map((delivery) => (
              <li key={delivery.id}>
                <Badge tone={TONES[delivery.status]} text={delivery.status} />{' '}
                {delivery.response_code ?? delivery.error ?? ''} <Time at={delivery.created_at} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

async function deliveriesOf(
  webhook: WebhookResource,
  record: RecordResource,
  signal: AbortSignal,
): Promise<Seen> {
  const written = Date.parse(record.updated_at);
  const found: DeliveryResource[] = [];
  for await (const delivery of api.webhooks.deliveries(webhook.id, {}, { limit: 100, signal })) {
    const at = Date.parse(delivery.created_at);
    // Newest first: what follows is older than the write.
    if (at < written) break;
    if (at <= written + WITHIN_MS && delivery.event === 'record.upserted') found.push(delivery);
    if (found.length >= 20) break;
  }
  return { webhook, deliveries: found };
}
