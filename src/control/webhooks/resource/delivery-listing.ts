import { LIMITS } from '../../../base/limits.ts';
import {
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
} from '../../../protocol/input/listing-cursor.ts';
import {
  badParameter,
  type QueryParameters,
  readParameters,
} from '../../../protocol/input/query-parameters.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../protocol/webhooks.ts';
import type { DeliveryPosition } from '../../../store/webhooks/deliveries.ts';

const PAGE_DEFAULT = 50;

export interface DeliveryListing {
  /** Null: every status. */
  readonly status: DeliveryStatus | null;
  readonly limit: number;
  readonly after: DeliveryPosition | null;
}

export const DELIVERY_PARAMETERS = {
  status: { schema: { enum: DELIVERY_STATUSES }, description: 'Only those' },
  limit: {
    schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageMax, default: PAGE_DEFAULT },
    description: 'Deliveries of a page',
  },
  cursor: {
    schema: CURSOR_SCHEMA,
    description: 'The page after, from `meta.next_cursor`. Valid for the same webhook and status only',
  },
} as const;

const PARAMETERS = Object.keys(DELIVERY_PARAMETERS);

/** Reads the query of GET /webhooks/:id/deliveries. @throws AppError 400 naming the unknown, repeated or invalid parameter */
export function parseDeliveryListing(query: QueryParameters, webhookId: string): DeliveryListing {
  const { status: statusText, limit: limitText, cursor } = readParameters(query, PARAMETERS);
  const status = statusText === undefined ? null : statusOf(statusText);
  if (status === undefined) throw badParameter('status', `is not one of ${DELIVERY_STATUSES.join(', ')}`);
  const limit = limitText === undefined ? PAGE_DEFAULT : pageLimit(limitText);
  if (limit === null) throw badParameter('limit', `is not a number from 1 to ${LIMITS.pageMax}`);
  const after = cursor === undefined ? null : decodePosition(cursor, webhookId, status);
  if (cursor !== undefined && after === null) throw badParameter('cursor', 'is not a cursor of this listing');
  return { status, limit, after };
}

/** A cursor for the page after this position. It is valid for this webhook and filter only. */
export function encodePosition(
  { createdAt, id }: DeliveryPosition,
  webhookId: string,
  status: DeliveryStatus | null,
): string {
  return encodeListingCursor({ c: createdAt, i: id }, [webhookId, status]);
}

function decodePosition(
  text: string,
  webhookId: string,
  status: DeliveryStatus | null,
): DeliveryPosition | null {
  const { c: createdAt, i: id } = decodeListingCursor(text, [webhookId, status]) ?? {};
  if (typeof id !== 'string') return null;
  return Number.isSafeInteger(createdAt) ? { createdAt: createdAt as number, id } : null;
}

function statusOf(text: string): DeliveryStatus | undefined {
  return DELIVERY_STATUSES.find((status) => status === text.toLowerCase());
}

function pageLimit(text: string): number | null {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMITS.pageMax ? limit : null;
}
