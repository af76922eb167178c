import { LIMITS } from '../../../base/limits.ts';
import { formatTime } from '../../../base/text/time.ts';
import type { Change } from '../../../protocol/change.ts';
import type { WebhookEvent } from '../../../protocol/webhooks.ts';

/** The `data` of each event. It must not identify the customer. */
export interface EventData {
  readonly 'record.upserted': {
    readonly key: string;
    readonly namespace: string;
    readonly resource: string;
    readonly version: string;
    readonly content_type: string;
    readonly ttl_seconds: number;
    /** Base64. Null when a later delete or expiry erased it from the log before it could be enqueued. */
    readonly data: string | null;
  };
  readonly 'record.deleted': { readonly key: string; readonly namespace: string };
  readonly 'namespace.upserted': {
    readonly id: string;
    readonly name: string;
    readonly records_count: number;
    /** Optional for receivers, which may still get a delivery of before this field. */
    readonly max_ttl?: number;
    readonly created_at: string;
    readonly updated_at: string;
    /** As over REST: there only while it is so. */
    readonly public_read?: true;
    readonly suspended?: true;
  };
  readonly 'namespace.deleted': { readonly namespace: string };
}

export type CustomerEvent = {
  readonly [E in WebhookEvent]: { readonly event: E; readonly data: EventData[E] };
}[WebhookEvent];

/** The body of a delivery (event-schemas.ts describes it). */
export interface EventBody<E extends WebhookEvent> {
  readonly event: E;
  readonly seq: number;
  readonly created_at: string;
  readonly data: EventData[E];
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
      return {
        event: change.type,
        data: {
          id,
          name,
          records_count: recordsCount,
          max_ttl: change.maxTtl ?? LIMITS.openTtlDefault,
          created_at: formatTime(createdAt),
          updated_at: formatTime(updatedAt),
          ...(change.publicRead && { public_read: true }),
          ...(change.suspended && { suspended: true }),
        },
      };
    }
    case 'namespace.deleted':
      return { event: change.type, data: { namespace: change.namespace } };
    case 'namespace.closing':
    case 'token.minted':
    case 'token.revoked':
    case 'dataset.items':
    case 'dataset.published':
    case 'dataset.withdrawn':
    case 'dataset.key':
      return null;
  }
}

/** The JSON body, signed and sent unchanged on every attempt. @param at time of the event, milliseconds since the epoch */
export function deliveryBody({ event, data }: CustomerEvent, seq: number, at: number): Uint8Array {
  const body: Omit<EventBody<WebhookEvent>, 'data'> & Pick<CustomerEvent, 'data'> = {
    event,
    seq,
    created_at: formatTime(at),
    data,
  };
  return Buffer.from(JSON.stringify(body));
}

/** The namespace that a body tells of. An empty body, which no delivery has, is of none. */
export function namespaceOfBody(body: Uint8Array): string {
  if (body.length === 0) return '';
  const { data } = JSON.parse(Buffer.from(body).toString()) as CustomerEvent;
  return 'namespace' in data ? data.namespace : data.name;
}
