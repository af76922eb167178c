import { createHash } from 'node:crypto';
import { isJsonObject } from '../../../core/input/fields.ts';
import { badParameter, type QueryParameters, readParameters } from '../../../core/input/query-parameters.ts';
import { LIMITS } from '../../../core/limits.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../core/webhooks.ts';
import type { DeliveryPosition } from '../../store/webhooks/deliveries.ts';

const PAGE_DEFAULT = 50;

/** A page of a webhook's history as it was asked for. */
export interface DeliveryListing {
  /** Null: every status. */
  readonly status: DeliveryStatus | null;
  readonly limit: number;
  readonly after: DeliveryPosition | null;
}

const PARAMETERS = ['status', 'limit', 'cursor'];
const BASE64URL = /^[A-Za-z0-9_-]{1,512}$/;

/**
 * Reads the query string of GET /webhooks/:id/deliveries.
 *
 * @throws AppError 400 naming the parameter that is unknown, repeated or not what it must be
 */
export function parseDeliveryListing(query: QueryParameters, webhookId: string): DeliveryListing {
  const { status: statusText, limit: limitText, cursor } = readParameters(query, PARAMETERS);
  const status = statusText === undefined ? null : statusOf(statusText);
  if (status === undefined) throw badParameter('status', `is not one of ${DELIVERY_STATUSES.join(', ')}`);
  const limit = limitText === undefined ? PAGE_DEFAULT : pageLimit(limitText);
  if (limit === null) throw badParameter('limit', `is not a number from 1 to ${LIMITS.pageMax}`);
  const after = cursor === undefined ? null : decodeCursor(cursor, webhookId, status);
  if (cursor !== undefined && after === null) throw badParameter('cursor', 'is not a cursor of this listing');
  return { status, limit, after };
}

/** Spells the place after which the next page begins, bound to the webhook and the filter. */
export function encodeCursor(
  { createdAt, id }: DeliveryPosition,
  webhookId: string,
  status: DeliveryStatus | null,
): string {
  const fields = { c: createdAt, i: id, f: fingerprint(webhookId, status) };
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

function decodeCursor(
  text: string,
  webhookId: string,
  status: DeliveryStatus | null,
): DeliveryPosition | null {
  if (!BASE64URL.test(text)) return null;
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
  if (!isJsonObject(fields)) return null;
  const { c: createdAt, i: id, f } = fields;
  if (typeof id !== 'string' || f !== fingerprint(webhookId, status)) return null;
  return Number.isSafeInteger(createdAt) ? { createdAt: createdAt as number, id } : null;
}

function fingerprint(webhookId: string, status: DeliveryStatus | null): string {
  return createHash('sha256')
    .update(JSON.stringify([webhookId, status]))
    .digest('base64url')
    .slice(0, 16);
}

function statusOf(text: string): DeliveryStatus | undefined {
  return DELIVERY_STATUSES.find((status) => status === text);
}

function pageLimit(text: string): number | null {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMITS.pageMax ? limit : null;
}
