import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import type { Change } from '../../protocol/change.ts';
import {
  COUNT,
  type ObjectSchema,
  resourceSchema,
  type Schema,
  TIME,
  UUID,
} from '../../protocol/input/schema.ts';
import type { DeliveryEvent, WebhookEvent } from '../../protocol/webhooks.ts';
import type { WebhookRow } from '../../store/webhooks/webhooks.ts';
import { HISTORY_SCHEMA, type HistoryResource, historyResource } from '../namespaces/rules.ts';

/** The `data` of each event. It must not identify the customer. */
interface EventData {
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
    readonly history?: HistoryResource;
    readonly public_read?: true;
    readonly suspended?: true;
  };
  readonly 'namespace.deleted': { readonly namespace: string };
}

export type CustomerEvent = {
  readonly [E in WebhookEvent]: { readonly event: E; readonly data: EventData[E] };
}[WebhookEvent];

/** The body of a delivery (event-schemas.ts describes it). */
interface EventBody<E extends WebhookEvent> {
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
          ...historyResource(change.history),
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
    case 'log.proof':
    case 'log.checkpoint':
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

/** A test has `timestamp` in place of `created_at`, and no `seq` (docs/WEBHOOKS.md). */
interface TestBody {
  readonly event: 'webhook.test';
  readonly timestamp: string;
  readonly data: { readonly message: string; readonly webhook_id: string; readonly webhook_name: string };
}

export function testBody({ id, name }: WebhookRow, now: number): Uint8Array {
  const data = { message: 'This is a test delivery.', webhook_id: id, webhook_name: name };
  const body: TestBody = { event: 'webhook.test', timestamp: formatTime(now), data };
  return Buffer.from(JSON.stringify(body));
}

const KEY = {
  type: 'string',
  description: '`[<params>.]<resource>.<namespace>.<version>`, lower case',
  examples: ['sensor-1.status.acme.v1'],
} as const;
const NAMESPACE = { type: 'string', examples: ['acme'] } as const;

const DATA: { readonly [E in keyof EventData]: ObjectSchema } = {
  'record.upserted': resourceSchema<EventData['record.upserted']>('RecordUpsertedData', {
    key: KEY,
    namespace: NAMESPACE,
    resource: { type: 'string', examples: ['status'] },
    version: { type: 'string', examples: ['v1'] },
    content_type: { type: 'string', examples: ['text/plain'] },
    ttl_seconds: { type: 'integer', examples: [300] },
    data: {
      type: ['string', 'null'],
      description: 'Base64. null: the record was deleted, or had expired, before this event could be queued',
      examples: ['b2s='],
    },
  }),
  'record.deleted': resourceSchema<EventData['record.deleted']>('RecordDeletedData', {
    key: KEY,
    namespace: NAMESPACE,
  }),
  'namespace.upserted': resourceSchema<EventData['namespace.upserted']>(
    'NamespaceUpsertedData',
    {
      id: UUID,
      name: NAMESPACE,
      records_count: COUNT,
      max_ttl: {
        type: 'integer',
        description: 'The longest TTL of an open answer, in seconds',
        examples: [60],
      },
      created_at: TIME,
      updated_at: TIME,
      history: HISTORY_SCHEMA,
      public_read: { const: true, description: 'Only while everyone may read the namespace over DNS' },
      suspended: { const: true, description: 'Only while the operator has suspended the namespace' },
    },
    { max_ttl: true, history: true, public_read: true, suspended: true },
  ),
  'namespace.deleted': resourceSchema<EventData['namespace.deleted']>('NamespaceDeletedData', {
    namespace: NAMESPACE,
  }),
};

function bodySchema<E extends keyof EventData>(title: string, event: E): Schema {
  return resourceSchema<Omit<EventBody<E>, 'data'> & { readonly data: object }>(title, {
    event: { type: 'string', const: event } as never,
    seq: {
      type: 'integer',
      minimum: 0,
      description: 'Ascends from event to event of the account, with gaps',
      examples: [41],
    },
    created_at: { ...TIME, description: 'When the event happened, not when it was sent' },
    data: DATA[event] as never,
  });
}

/** The body of a delivery of each event. */
export const DELIVERY_BODY_SCHEMAS: Readonly<Record<DeliveryEvent, Schema>> = {
  'record.upserted': bodySchema('RecordUpsertedEvent', 'record.upserted'),
  'record.deleted': bodySchema('RecordDeletedEvent', 'record.deleted'),
  'namespace.upserted': bodySchema('NamespaceUpsertedEvent', 'namespace.upserted'),
  'namespace.deleted': bodySchema('NamespaceDeletedEvent', 'namespace.deleted'),
  'webhook.test': resourceSchema<TestBody>('WebhookTestEvent', {
    event: { type: 'string', const: 'webhook.test' },
    timestamp: TIME,
    data: resourceSchema<TestBody['data']>('WebhookTestData', {
      message: { type: 'string', examples: ['This is a test delivery.'] },
      webhook_id: UUID,
      webhook_name: { type: 'string', examples: ['deploy'] },
    }),
  }),
};
