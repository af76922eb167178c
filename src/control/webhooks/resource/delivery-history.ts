import { invalid, notFound } from '../../../base/errors.ts';
import { arrayOf, resourceSchema } from '../../../protocol/input/schema.ts';
import { listDeliveries, lockDelivery, makeDue } from '../../../store/webhooks/deliveries.ts';
import { updateWebhook } from '../../../store/webhooks/webhooks.ts';
import type { Actor } from '../../accounts/actor.ts';
import type { HasClock, HasStore } from '../../accounts/deps.ts';
import { findAuthorized, lockAuthorized } from './authorize.ts';
import { encodePosition, parseDeliveryListing } from './delivery-listing.ts';
import { DELIVERY_SCHEMA, type DeliveryResource, deliveryResource } from './webhook-resource.ts';

export interface DeliveryPage {
  readonly deliveries: readonly DeliveryResource[];
  readonly meta: {
    readonly limit: number;
    /** Null on the last page. */
    readonly next_cursor: string | null;
    readonly has_more: boolean;
  };
}

export const DELIVERY_PAGE_SCHEMA = resourceSchema<DeliveryPage>('DeliveryPage', {
  deliveries: arrayOf(DELIVERY_SCHEMA),
  meta: resourceSchema<DeliveryPage['meta']>('DeliveryPageMeta', {
    limit: { type: 'integer', examples: [50] },
    next_cursor: { type: ['string', 'null'], description: 'null on the last page', examples: [null] },
    has_more: { type: 'boolean', examples: [false] },
  }),
});

/** Newest first. @throws AppError 404 or 403 for the webhook, 400 for the parameters */
export async function pageDeliveries(
  deps: HasStore,
  actor: Actor,
  webhookId: string,
  query: Readonly<Record<string, unknown>>,
): Promise<DeliveryPage> {
  await findAuthorized(deps, actor, webhookId);
  const { status, limit, after } = parseDeliveryListing(query, webhookId);
  const rows = await listDeliveries(deps.store.read, webhookId, status, after, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const next =
    last === undefined
      ? null
      : encodePosition({ createdAt: last.created_at, id: last.id }, webhookId, status);
  return {
    deliveries: rows.slice(0, limit).map(deliveryResource),
    meta: { limit, next_cursor: next, has_more: next !== null },
  };
}

/**
 * Makes a waiting delivery due now and ends the webhook's backoff. The attempt counts like any other.
 * @throws AppError 404, 403; 422 when the delivery has ended: its body is no longer stored
 */
export async function redeliver(
  deps: HasStore & HasClock,
  actor: Actor,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryResource> {
  const now = deps.clock();
  return deps.store.write(async (tx) => {
    const webhook = await lockAuthorized(tx, actor, webhookId);
    const delivery = await lockDelivery(tx, deliveryId, webhookId);
    if (delivery === null) throw notFound('Delivery');
    if (delivery.status !== 'pending') throw invalid('delivery has ended and its body is erased');
    const due = await makeDue(tx, deliveryId, now);
    await updateWebhook(tx, webhook, {
      next_due_at: Math.min(webhook.next_due_at ?? now, now),
      rests_until: 0,
    });
    return deliveryResource(due);
  });
}
