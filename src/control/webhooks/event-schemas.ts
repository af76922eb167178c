import {
  COUNT,
  type ObjectSchema,
  resourceSchema,
  type Schema,
  TIME,
  UUID,
} from '../../protocol/input/schema.ts';
import type { DeliveryEvent } from '../../protocol/webhooks.ts';
import type { EventBody, EventData } from './fan-out/events.ts';
import type { TestBody } from './resource/test-delivery.ts';

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
      public_read: { const: true, description: 'Only while everyone may read the namespace over DNS' },
      suspended: { const: true, description: 'Only while the operator has suspended the namespace' },
    },
    { max_ttl: true, public_read: true, suspended: true },
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
