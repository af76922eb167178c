import type { Change } from '../../../core/change.ts';
import { formatTime } from '../../../core/text/time.ts';
import type { WebhookEvent } from '../../../core/webhooks.ts';

/** The `data` of an event. It must not identify the customer. */
export type EventData =
  | {
      readonly key: string;
      readonly namespace: string;
      readonly resource: string;
      readonly version: string;
      readonly content_type: string;
      readonly ttl_seconds: number;
      /** Base64. Null when a later delete or expiry erased it from the log before it could be enqueued. */
      readonly data: string | null;
    }
  | { readonly key: string; readonly namespace: string }
  | {
      readonly id: string;
      readonly name: string;
      readonly records_count: number;
      readonly created_at: string;
      readonly updated_at: string;
    }
  | { readonly namespace: string };

export interface CustomerEvent {
  readonly event: WebhookEvent;
  readonly data: EventData;
}

/**
 * The customer's view of a change. Fields are listed one by one, so that a field added to Change later is not sent by mistake.
 * @returns null for an expired record, a query token, a namespace that is closing or that has no owner
 */
export function eventOf(change: Change): CustomerEvent | null {
  if (change.owner === null || change.cause === 'expiry') return null;
  switch (change.type) {
    case 'record.upserted': {
      const { key, namespace, resource, version, contentType, ttlSeconds, data } = change;
      const shown = { key, namespace, resource, version, content_type: contentType, ttl_seconds: ttlSeconds };
      return { event: change.type, data: { ...shown, data } };
    }
    case 'record.deleted':
      return { event: change.type, data: { key: change.key, namespace: change.namespace } };
    case 'namespace.upserted': {
      const { id, namespace: name, recordsCount, createdAt, updatedAt } = change;
      const times = { created_at: formatTime(createdAt), updated_at: formatTime(updatedAt) };
      return { event: change.type, data: { id, name, records_count: recordsCount, ...times } };
    }
    case 'namespace.deleted':
      return { event: change.type, data: { namespace: change.namespace } };
    case 'namespace.closing':
    case 'token.minted':
    case 'token.revoked':
      return null;
  }
}

/** The JSON body, signed and sent unchanged on every attempt. @param at time of the event, milliseconds since the epoch */
export function deliveryBody({ event, data }: CustomerEvent, seq: number, at: number): Uint8Array {
  return Buffer.from(JSON.stringify({ event, seq, created_at: formatTime(at), data }));
}
