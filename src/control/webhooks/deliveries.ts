import { AppError, invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  limitParameter,
  type QueryParameters,
  readLimit,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { arrayOf, resourceSchema } from '../../protocol/input/schema.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../protocol/webhooks.ts';
import {
  type AttemptPosition,
  countDue,
  type DeliveryRow,
  listByAttempt,
  listDeliveries,
  lockDelivery,
  makeDue,
} from '../../store/webhooks/deliveries.ts';
import { updateWebhook } from '../../store/webhooks/webhooks.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasStore, HasUnit } from '../deps.ts';
import { roomAt } from './hourly-attempts.ts';
import {
  DELIVERY_SCHEMA,
  type DeliveryResource,
  deliveryResource,
  findAuthorized,
  lockAuthorized,
} from './shapes.ts';

const PAGE_DEFAULT = 50;

interface DeliveryListing {
  /** Null: every status. */
  readonly status: DeliveryStatus | null;
  readonly order: Order;
  readonly limit: number;
  readonly after: AttemptPosition | null;
}

const ORDERS = ['created', 'attempted'] as const;
type Order = (typeof ORDERS)[number];

export const DELIVERY_PARAMETERS = {
  status: { schema: { enum: DELIVERY_STATUSES }, description: 'Only those' },
  order: {
    schema: { enum: ORDERS, default: 'created' },
    description:
      '`attempted`: those that wait for their first attempt come last, the next one first. Not with `status`',
  },
  limit: limitParameter('Deliveries', PAGE_DEFAULT, LIMITS.pageMax),
  cursor: {
    schema: CURSOR_SCHEMA,
    description: 'The page after, from `meta.next_cursor`. Valid for the same webhook, status and order only',
  },
} as const;

const PARAMETERS = Object.keys(DELIVERY_PARAMETERS);

/** Reads the query of GET /webhooks/:id/deliveries. @throws AppError 400 naming the unknown, repeated or invalid parameter */
function parseDeliveryListing(query: QueryParameters, webhookId: string): DeliveryListing {
  const {
    status: statusText,
    order: orderText,
    limit: limitText,
    cursor,
  } = readParameters(query, PARAMETERS);
  const status = statusText === undefined ? null : statusOf(statusText);
  if (status === undefined) throw badParameter('status', `is not one of ${DELIVERY_STATUSES.join(', ')}`);
  const order = ORDERS.find((one) => one === (orderText ?? 'created').toLowerCase());
  if (order === undefined) throw badParameter('order', `is not one of ${ORDERS.join(', ')}`);
  if (order === 'attempted' && status !== null)
    throw badParameter('order', 'is not for deliveries of a status');
  const limit = readLimit(limitText, PAGE_DEFAULT, LIMITS.pageMax);
  const after = cursor === undefined ? null : decodePosition(cursor, [webhookId, status, order]);
  if (cursor !== undefined && after === null) throw badParameter('cursor', 'is not a cursor of this listing');
  return { status, order, limit, after };
}

/** What a cursor is valid for. */
type Listed = readonly [webhookId: string, status: DeliveryStatus | null, order: Order];

function encodePosition({ createdAt, id, isUntried }: AttemptPosition, listed: Listed): string {
  return encodeListingCursor({ c: createdAt, i: id, u: isUntried ? 1 : 0 }, listed);
}

function decodePosition(text: string, listed: Listed): AttemptPosition | null {
  const { c: createdAt, i: id, u: untried } = decodeListingCursor(text, listed) ?? {};
  if (typeof id !== 'string') return null;
  return Number.isSafeInteger(createdAt)
    ? { createdAt: createdAt as number, id, isUntried: untried === 1 }
    : null;
}

function positionOf(row: DeliveryRow, order: Order): AttemptPosition {
  const isUntried = order === 'attempted' && row.status === 'pending' && row.attempts === 0;
  return { createdAt: (isUntried ? row.next_attempt_at : null) ?? row.created_at, id: row.id, isUntried };
}

function statusOf(text: string): DeliveryStatus | undefined {
  return DELIVERY_STATUSES.find((status) => status === text.toLowerCase());
}

type DeliveryPage = Awaited<ReturnType<typeof pageDeliveries>>;

export const DELIVERY_PAGE_SCHEMA = resourceSchema<DeliveryPage>('DeliveryPage', {
  deliveries: arrayOf(DELIVERY_SCHEMA),
  meta: resourceSchema<DeliveryPage['meta']>('DeliveryPageMeta', {
    limit: { type: 'integer', examples: [50] },
    next_cursor: { type: ['string', 'null'], description: 'null on the last page', examples: [null] },
    has_more: { type: 'boolean', examples: [false] },
  }),
});

/** Newest first unless another order is asked for. @throws AppError 404 or 403 for the webhook, 400 for the parameters */
export async function pageDeliveries(
  deps: HasStore,
  actor: Actor,
  webhookId: string,
  query: Readonly<Record<string, unknown>>,
) {
  await findAuthorized(deps, actor, webhookId);
  const { status, order, limit, after } = parseDeliveryListing(query, webhookId);
  const rows =
    order === 'attempted'
      ? await listByAttempt(deps.store.read, webhookId, after, limit + 1)
      : await listDeliveries(deps.store.read, webhookId, status, after, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const next =
    last === undefined ? null : encodePosition(positionOf(last, order), [webhookId, status, order]);
  return {
    deliveries: rows.slice(0, limit).map(deliveryResource),
    meta: { limit, next_cursor: next, has_more: next !== null },
  };
}

/**
 * Makes a waiting delivery due now and ends the webhook's backoff. The attempt counts like any other.
 * @throws AppError 404, 403; 422 when the delivery has ended: its body is no longer stored; 429 while the webhook has had its attempts of an
 * hour, or would have had them with what is due
 */
export async function redeliver(
  deps: HasUnit & HasClock,
  actor: Actor,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryResource> {
  const now = deps.clock();
  return deps.unit(actor, async (tx) => {
    const webhook = await lockAuthorized(tx, actor, webhookId);
    const delivery = await lockDelivery(tx, deliveryId, webhookId);
    if (delivery === null) throw notFound('Delivery');
    if (delivery.status !== 'pending') throw invalid('delivery has ended and its body is erased');
    // A delivery that is due when there is no attempt left is dropped, while one that waits may still be sent.
    const before = await countDue(tx, webhookId, deliveryId, now);
    const waitMs = roomAt(webhook.attempt_minutes, now, before) - now;
    if (waitMs > 0) {
      throw new AppError('rate_limit_exceeded', 'Webhook has had its attempts of an hour', {
        retryAfter: Math.ceil(waitMs / 1000),
      });
    }
    const due = await makeDue(tx, deliveryId, now);
    await updateWebhook(tx, webhook, {
      next_due_at: Math.min(webhook.next_due_at ?? now, now),
      rests_until: 0,
    });
    await audit(tx, actor, now, 'webhook.redelivered', audited.webhook(webhook));
    return deliveryResource(due);
  });
}
