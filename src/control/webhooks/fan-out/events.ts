import type { Change } from '../../../core/change.ts';
import { formatTime } from '../../../core/text/time.ts';
import type { WebhookEvent } from '../../../core/webhooks.ts';

/** The `data` of an event. Nothing in it names the customer. */
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
 * What a customer may be told of a change. Each of the four is spelt out field by field, so that nothing that is added to a
 * Change later leaves by itself.
 *
 * @returns null for a record that expired, a query token, a namespace that is closing, and a namespace that no customer owns
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

/**
 * The body of a delivery: what is signed and sent, as it is, on every attempt.
 *
 * @param seq the customer's number of the event
 * @param at when it happened, milliseconds since the epoch
 * @returns JSON in UTF-8
 */
export function deliveryBody({ event, data }: CustomerEvent, seq: number, at: number): Uint8Array {
  return Buffer.from(JSON.stringify({ event, seq, created_at: formatTime(at), data }));
}
