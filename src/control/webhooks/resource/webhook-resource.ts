import { formatTime, formatTimeOrNull } from '../../../base/text/time.ts';
import {
  arrayOf,
  COUNT,
  HEX_SECRET,
  resourceSchema,
  TIME,
  TIME_OR_NULL,
  UUID,
} from '../../../protocol/input/schema.ts';
import {
  DELIVERY_ERRORS,
  DELIVERY_STATUSES,
  type DeliveryError,
  type DeliveryEvent,
  type DeliveryStatus,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from '../../../protocol/webhooks.ts';
import type { Db } from '../../../store/store.ts';
import type { DeliveryRow } from '../../../store/webhooks/deliveries.ts';
import type { WebhookRow } from '../../../store/webhooks/webhooks.ts';
import type { Actor } from '../../accounts/actor.ts';
import { MADE_BY, type Maker, makersFor } from '../../accounts/made-by.ts';

export interface WebhookResource {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  readonly failure_count: number;
  readonly last_triggered_at: string | null;
  /** Empty: all namespaces of the customer. */
  readonly scopes: { readonly namespaces: readonly string[] };
  readonly created_at: string;
  readonly created_by: Maker | null;
}

/** Shown only in the response that creates them. 64 lower-case hexadecimal letters each. */
export interface WebhookSecrets {
  readonly secret: string;
  readonly signing_secret: string;
}

const EVENT = { type: 'string', enum: Object.keys(WEBHOOK_EVENTS) } as const;

const WEBHOOK_FIELDS = {
  id: UUID,
  name: { type: 'string', examples: ['orders'] },
  url: { type: 'string', examples: ['https://hooks.example.com/uqrp'] },
  events: arrayOf(EVENT),
  enabled: { type: 'boolean', examples: [true] },
  failure_count: { ...COUNT, description: 'Failed attempts in a row', examples: [0] },
  last_triggered_at: { ...TIME_OR_NULL, description: 'Tests do not move it' },
  scopes: resourceSchema<WebhookResource['scopes']>('WebhookScopes', {
    namespaces: arrayOf({ type: 'string', examples: ['acme'] }, { description: 'Empty: all' }),
  }),
  created_at: TIME,
  created_by: MADE_BY,
} as const;

export const WEBHOOK_SCHEMA = resourceSchema<WebhookResource>('Webhook', WEBHOOK_FIELDS);

export const WEBHOOK_WITH_SECRETS_SCHEMA = resourceSchema<WebhookResource & WebhookSecrets>(
  'WebhookWithSecrets',
  {
    ...WEBHOOK_FIELDS,
    secret: { ...HEX_SECRET, description: 'In this answer only' },
    signing_secret: { ...HEX_SECRET, description: 'Signs deliveries. In this answer only' },
  },
);

export function webhookResource(
  row: WebhookRow,
  makerOf: (id: string | null) => Maker | null,
): WebhookResource {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events),
    enabled: row.enabled === 1,
    failure_count: row.failure_count,
    last_triggered_at: formatTimeOrNull(row.last_triggered_at),
    scopes: { namespaces: namespacesOf(row) },
    created_at: formatTime(row.created_at),
    created_by: makerOf(row.created_by),
  };
}

/** One webhook as the actor may see it. */
export async function showWebhook(db: Db, actor: Actor, row: WebhookRow): Promise<WebhookResource> {
  return webhookResource(row, await makersFor(db, actor, [row.created_by]));
}

/** Namespaces that a webhook is restricted to; empty: it receives events of all. */
export function namespacesOf({ namespaces }: Pick<WebhookRow, 'namespaces'>): readonly string[] {
  return JSON.parse(namespaces);
}

/** A delivery as the API shows it: without its body and without the response of the endpoint. */
export interface DeliveryResource {
  readonly id: string;
  readonly event: DeliveryEvent;
  readonly seq: number | null;
  readonly status: DeliveryStatus;
  readonly response_code: number | null;
  readonly error: DeliveryError | null;
  readonly attempts: number;
  readonly duration_ms: number | null;
  readonly created_at: string;
  readonly last_attempt_at: string | null;
  readonly next_attempt_at: string | null;
}

export const DELIVERY_SCHEMA = resourceSchema<DeliveryResource>('Delivery', {
  id: UUID,
  event: { type: 'string', enum: [...EVENT.enum, 'webhook.test'] },
  seq: { type: ['integer', 'null'], description: 'null for tests', examples: [42] },
  status: { type: 'string', enum: DELIVERY_STATUSES },
  response_code: { type: ['integer', 'null'], examples: [204] },
  error: {
    type: ['string', 'null'],
    enum: [...DELIVERY_ERRORS, null],
    description: 'Why the last attempt failed',
    examples: [null],
  },
  attempts: { ...COUNT, examples: [1] },
  duration_ms: { type: ['integer', 'null'], description: 'Of the last attempt', examples: [34] },
  created_at: TIME,
  last_attempt_at: TIME_OR_NULL,
  next_attempt_at: TIME_OR_NULL,
});

export function deliveryResource(row: DeliveryRow): DeliveryResource {
  return {
    id: row.id,
    event: row.event,
    seq: row.seq,
    status: row.status,
    response_code: row.response_code,
    error: row.error,
    attempts: row.attempts,
    duration_ms: row.duration_ms,
    created_at: formatTime(row.created_at),
    last_attempt_at: formatTimeOrNull(row.last_attempt_at),
    next_attempt_at: formatTimeOrNull(row.next_attempt_at),
  };
}

/** What a customer can subscribe to. */
export const EVENT_CATALOGUE = {
  events: Object.entries(WEBHOOK_EVENTS).map(([name, description]) => ({ name, description })),
} as const;

export const EVENT_CATALOGUE_SCHEMA = resourceSchema<typeof EVENT_CATALOGUE>('EventCatalogue', {
  events: arrayOf(
    resourceSchema<(typeof EVENT_CATALOGUE)['events'][number]>('EventDescription', {
      name: EVENT,
      description: { type: 'string', examples: [WEBHOOK_EVENTS['record.upserted']] },
    }),
  ),
});
