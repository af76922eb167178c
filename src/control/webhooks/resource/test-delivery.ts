import { invalid } from '../../../base/errors.ts';
import { formatTime } from '../../../base/text/time.ts';
import { type DeliveryRow, insertDelivery } from '../../../store/webhooks/deliveries.ts';
import type { WebhookRow } from '../../../store/webhooks/webhooks.ts';
import type { Actor } from '../../accounts/actor.ts';
import { AttemptInterruptedError } from '../delivery/send-attempt.ts';
import type { AttemptRequest, AttemptResult, WebhookDeps } from '../ports.ts';
import { findAuthorized, lockAuthorized } from './authorize.ts';
import { type DeliveryResource, deliveryResource } from './webhook-resource.ts';
import { requireWebhooks } from './webhooks.ts';

/** Attempts of one test, when the outbound thread ends during each. */
const ATTEMPTS_MAX = 3;

/**
 * Sends one `webhook.test` now, also to a disabled webhook, and writes the result to the history. A failed test is not
 * retried and changes no counter of real deliveries. Only the end of the outbound thread repeats it, under the same id.
 * @throws AppError 404, 403; 422 for a tier without webhooks, or when the URL is no longer allowed
 * @throws AttemptInterruptedError when the outbound thread ended `ATTEMPTS_MAX` times: a fault of this server, status 500
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
  const { error, responseCode, durationMs } = await sendUninterrupted(deps, {
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

async function sendUninterrupted(
  { sendAttempt }: Pick<WebhookDeps, 'sendAttempt'>,
  request: AttemptRequest,
): Promise<AttemptResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendAttempt(request);
    } catch (error) {
      // The next attempt starts another thread after its restart delay.
      if (!(error instanceof AttemptInterruptedError) || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

/** A test has `timestamp` in place of `created_at`, and no `seq` (docs/WEBHOOKS.md). */
export interface TestBody {
  readonly event: 'webhook.test';
  readonly timestamp: string;
  readonly data: { readonly message: string; readonly webhook_id: string; readonly webhook_name: string };
}

function testBody({ id, name }: WebhookRow, now: number): Uint8Array {
  const data = { message: 'This is a test delivery.', webhook_id: id, webhook_name: name };
  const body: TestBody = { event: 'webhook.test', timestamp: formatTime(now), data };
  return Buffer.from(JSON.stringify(body));
}
