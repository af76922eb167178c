import { invalid } from '../../../core/errors.ts';
import { formatTime } from '../../../core/text/time.ts';
import type { Actor } from '../../accounts/actor.ts';
import { type DeliveryRow, insertDelivery } from '../../store/webhooks/deliveries.ts';
import type { WebhookRow } from '../../store/webhooks/webhooks.ts';
import type { WebhookDeps } from '../ports.ts';
import { findAuthorized, lockAuthorized } from './authorize.ts';
import { type DeliveryResource, deliveryResource } from './webhook-resource.ts';
import { requireWebhooks } from './webhooks.ts';

/**
 * Sends one `webhook.test` now, to a webhook that is disabled too, and notes how it went. It is never tried again, and moves
 * nothing that real deliveries count. No unit of work is open while the endpoint is waited for.
 *
 * @throws AppError 404, 403; 422 for a tier without webhooks, or when the URL is no longer allowed
 */
export async function sendTest(
  deps: Omit<WebhookDeps, 'random'>,
  actor: Actor,
  id: string,
): Promise<DeliveryResource> {
  const webhook = await findAuthorized(deps, actor, id);
  requireWebhooks(actor);
  const urlFault = await deps.checkUrl(webhook.url);
  if (urlFault !== null) throw invalid(urlFault);
  const now = deps.clock();
  const deliveryId = deps.newId();
  const { error, responseCode, durationMs } = await deps.sendAttempt({
    url: webhook.url,
    signingSecret: deps.encryption.decrypt(id, webhook.signing_secret),
    deliveryId,
    event: 'webhook.test',
    body: testBody(webhook, now),
  });
  const delivery: DeliveryRow = {
    id: deliveryId,
    webhook_id: id,
    event: 'webhook.test',
    seq: null,
    status: error === null ? 'succeeded' : 'failed',
    response_code: responseCode,
    error,
    attempts: 1,
    duration_ms: durationMs,
    created_at: now,
    last_attempt_at: now,
    next_attempt_at: null,
  };
  return deps.store.write(async (tx) => {
    await lockAuthorized(tx, actor, id);
    await insertDelivery(tx, { ...delivery, body: null });
    return deliveryResource(delivery);
  });
}

/** Specification, Events: `timestamp` in place of `created_at`, and no `seq`. */
function testBody({ id, name }: WebhookRow, now: number): Uint8Array {
  const data = { message: 'This is a test delivery.', webhook_id: id, webhook_name: name };
  return Buffer.from(JSON.stringify({ event: 'webhook.test', timestamp: formatTime(now), data }));
}
