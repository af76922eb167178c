import { forbidden, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import { type Faults, type Fields, isText, type JsonObject } from '../../protocol/input/fields.ts';
import {
  arrayOf,
  COUNT,
  HEX_SECRET,
  resourceSchema,
  TIME,
  TIME_OR_NULL,
  UUID,
} from '../../protocol/input/schema.ts';
import {
  BOOLEAN,
  type Field,
  listOf,
  nameOf,
  optional,
  type Reader,
  required,
  shape,
} from '../../protocol/input/shape.ts';
import { folded, isLabel } from '../../protocol/names/labels.ts';
import {
  DELIVERY_ERRORS,
  DELIVERY_STATUSES,
  isWebhookEvent,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from '../../protocol/webhooks.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { DeliveryRow } from '../../store/webhooks/deliveries.ts';
import { findWebhook, lockWebhook, type WebhookRow } from '../../store/webhooks/webhooks.ts';
import { MADE_BY, type Maker, makersFor } from '../accounts/membership.ts';
import type { HasStore } from '../deps.ts';
import { readHealth, recentOf, type WebhookHealth } from './health.ts';

export type WebhookResource = ReturnType<typeof webhookResource>;

/** Shown only in the response that creates them. 64 lower-case hexadecimal letters each. */
export interface WebhookSecrets {
  readonly secret: string;
  readonly signing_secret: string;
}

const STATES = ['unproven', 'healthy', 'failing', 'disabled'] as const;
const DISABLERS = ['failures', 'tier', 'request', 'member_left'] as const;
const DELIVERY_ERROR = {
  type: ['string', 'null'],
  enum: [...DELIVERY_ERRORS, null],
  examples: [null],
} as const;

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
  health: resourceSchema<WebhookResource['health']>('WebhookHealth', {
    state: {
      type: 'string',
      enum: STATES,
      description:
        '`unproven`: no attempt has succeeded since it was made, enabled or given another URL, and none has failed',
      examples: ['healthy'],
    },
    failing_since: { ...TIME_OR_NULL, description: 'The first failed attempt of those in a row' },
    rests_until: { ...TIME_OR_NULL, description: 'After a failed attempt nothing is sent before this time' },
    last_success_at: { ...TIME_OR_NULL, description: 'Since it was made, enabled or given another URL' },
    last_failure_at: TIME_OR_NULL,
    last_error: { ...DELIVERY_ERROR, description: 'Of the last failed attempt' },
    last_response_code: {
      type: ['integer', 'null'],
      description: 'Of the last failed attempt; null: there was no response',
      examples: [null],
    },
    disabled_at: TIME_OR_NULL,
    disabled_by: {
      type: ['string', 'null'],
      enum: [...DISABLERS, null],
      description:
        '`failures`: too many failed attempts in a row. `tier`: the tier allows fewer webhooks. `request`: a PATCH. `member_left`: who made it, set its `url` last or was shown its secrets last left the organization. null: it is enabled, or was disabled before version 0.2',
      examples: [null],
    },
    disabled_user: {
      ...MADE_BY,
      description: 'Whose session disabled it. null: an API key, or no request did',
    },
    recent: resourceSchema<WebhookResource['health']['recent']>('WebhookRecent', {
      attempts: { ...COUNT, description: `At most the last ${LIMITS.webhookRecent}`, examples: [100] },
      succeeded: { ...COUNT, examples: [99] },
      p95_ms: {
        type: ['integer', 'null'],
        description: 'Milliseconds that 95 of 100 of these attempts did not exceed',
        examples: [84],
      },
    }),
  }),
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

export function webhookResource(row: WebhookRow, makerOf: (id: string | null) => Maker | null) {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as readonly WebhookEvent[],
    enabled: row.enabled === 1,
    failure_count: row.failure_count,
    last_triggered_at: formatTimeOrNull(row.last_triggered_at),
    scopes: { namespaces: namespacesOf(row) },
    created_at: formatTime(row.created_at),
    created_by: makerOf(row.created_by),
    health: healthOf(row, makerOf),
  };
}

function healthOf(row: WebhookRow, makerOf: (id: string | null) => Maker | null) {
  const health = readHealth(row.health);
  return {
    state: stateOf(row, health),
    failing_since: formatTimeOrNull(row.failure_count > 0 ? health.failingSince : null),
    rests_until: formatTimeOrNull(row.enabled === 1 && row.rests_until > 0 ? row.rests_until : null),
    last_success_at: formatTimeOrNull(health.succeededAt),
    last_failure_at: formatTimeOrNull(health.failedAt),
    last_error: health.error,
    last_response_code: health.responseCode,
    disabled_at: formatTimeOrNull(row.disabled_at),
    disabled_by: row.disabled_by,
    disabled_user: makerOf(row.disabled_user),
    recent: recentOf(health),
  };
}

function stateOf({ enabled, failure_count: failures }: WebhookRow, health: WebhookHealth) {
  if (enabled === 0) return 'disabled';
  if (failures > 0) return 'failing';
  return health.succeededAt === null ? 'unproven' : 'healthy';
}

/** One webhook as the actor may see it. */
export async function showWebhook(db: Db, actor: Actor, row: WebhookRow): Promise<WebhookResource> {
  return webhookResource(row, await makersFor(db, actor, [row.created_by, row.disabled_user]));
}

/** Namespaces that a webhook is restricted to; empty: it receives events of all. */
export function namespacesOf({ namespaces }: Pick<WebhookRow, 'namespaces'>): readonly string[] {
  return JSON.parse(namespaces);
}

/** A delivery as the API shows it: without its body and without the response of the endpoint. */
export type DeliveryResource = ReturnType<typeof deliveryResource>;

export const DELIVERY_SCHEMA = resourceSchema<DeliveryResource>('Delivery', {
  id: UUID,
  event: { type: 'string', enum: [...EVENT.enum, 'webhook.test'] },
  seq: { type: ['integer', 'null'], description: 'null for tests', examples: [42] },
  status: { type: 'string', enum: DELIVERY_STATUSES },
  response_code: { type: ['integer', 'null'], examples: [204] },
  error: { ...DELIVERY_ERROR, description: 'Why the last attempt failed' },
  attempts: { ...COUNT, examples: [1] },
  duration_ms: { type: ['integer', 'null'], description: 'Of the last attempt', examples: [34] },
  created_at: TIME,
  last_attempt_at: TIME_OR_NULL,
  next_attempt_at: TIME_OR_NULL,
});

export function deliveryResource(row: DeliveryRow) {
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

/**
 * Whether a credential may manage a webhook of these namespaces. A key with an allowlist is refused a webhook of all
 * namespaces (an empty list): its events would disclose the others.
 */
export function withinReach(actor: Actor, namespaces: readonly string[]): boolean {
  if (actor.namespaces === null) return true;
  return namespaces.length > 0 && namespaces.every((name) => reaches(actor, name));
}

/** The customer's webhook. @throws AppError 404, or 403 outside the key's allowlist */
export async function findAuthorized({ store }: HasStore, actor: Actor, id: string): Promise<WebhookRow> {
  return authorize(actor, await findWebhook(store.read, id, actor.customerId));
}

/** The customer's webhook, with its row locked until the unit of work ends. @throws AppError 404, 403 */
export async function lockAuthorized(tx: Tx, actor: Actor, id: string): Promise<WebhookRow> {
  return authorize(actor, await lockWebhook(tx, id, actor.customerId));
}

function authorize(actor: Actor, row: WebhookRow | null): WebhookRow {
  if (row === null) throw notFound('Webhook');
  if (!withinReach(actor, namespacesOf(row))) throw forbidden('API key does not reach this webhook');
  return row;
}

/** Validated fields of a body, lists without repetition. Undefined: absent, or invalid with the fault recorded. */
export interface WebhookInput {
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly events: readonly WebhookEvent[] | undefined;
  /** Empty: all namespaces of the customer. */
  readonly namespaces: readonly string[] | undefined;
  readonly enabled: boolean | undefined;
}

interface HasActor {
  readonly actor: Actor;
}

export const NO_SUCH_NAMESPACE = 'scopes.namespaces has a namespace that does not exist';
const NOT_IN_ALLOWLIST = 'must name namespaces within reach of the API key';

/** Checks the length only; `checkUrl` checks the target. */
const URL_TEXT: Reader<string> = {
  schema: {
    type: 'string',
    maxLength: LIMITS.webhookUrl,
    pattern: '^[hH][tT][tT][pP][sS]:',
    description: 'https, without credentials; every address of its name is public',
    examples: ['https://hooks.example.com/uqrp'],
  },
  read(fields, name) {
    const url = fields.text(name);
    if (url === undefined || url.length <= LIMITS.webhookUrl) return url;
    fields.fault(name, `must have at most ${LIMITS.webhookUrl} characters`);
    return undefined;
  },
};

const EVENT_NAMES = Object.keys(WEBHOOK_EVENTS);
const EVENT_LIST = listOf(
  LIMITS.webhookEvents,
  isWebhookEvent,
  EVENT_NAMES.join(', '),
  { enum: EVENT_NAMES },
  { minItems: 1 },
);

const EVENTS: Reader<readonly WebhookEvent[]> = {
  schema: EVENT_LIST.schema,
  read(fields, name, context) {
    const events = EVENT_LIST.read(fields, name, context);
    if (events?.length !== 0) return events;
    fields.fault(name, 'must not be empty');
    return undefined;
  },
};

const NAMES = listOf(LIMITS.webhookNamespaces, isText, 'strings', { type: 'string', examples: ['acme'] });

const NAMESPACES: Reader<readonly string[], HasActor> = {
  schema: { ...NAMES.schema, description: 'Names of your namespaces. Empty: all' },
  read(fields, name, { actor }) {
    const names = folded(NAMES.read(fields, name, undefined));
    if (names === undefined) return undefined;
    if (!withinReach(actor, names)) fields.fault(name, NOT_IN_ALLOWLIST);
    else if (!names.every(isLabel)) fields.fault(name, 'has a namespace that does not exist');
    else return names;
    return undefined;
  },
};

const SCOPES = shape('WebhookScopesPatch', { namespaces: required(NAMESPACES) });
const NEW_SCOPES = shape('NewWebhookScopes', { namespaces: optional(NAMESPACES) });

const SCOPES_PATCH: Reader<readonly string[], HasActor> = {
  schema: SCOPES.schema,
  read: (fields, name, context) => readScopes(fields, name, fields.object(name), context),
};

/** Absent scopes are those of all namespaces, which a key with an allowlist may not ask for. */
const SCOPES_OF_NEW: Field<readonly string[], HasActor, false> = {
  required: false,
  schema: NEW_SCOPES.schema,
  read(fields, name, context) {
    const given = fields.has(name) ? fields.object(name) : {};
    return readScopes(fields, name, given && { namespaces: [], ...given }, context);
  },
};

function readScopes(
  fields: Fields,
  name: string,
  scopes: JsonObject | undefined,
  context: HasActor,
): readonly string[] | undefined {
  return scopes && SCOPES.read(scopes, context, fields.faults, fields.label(name)).namespaces;
}

const NAME = nameOf(LIMITS.webhookName, 'orders');

export const NEW_WEBHOOK = shape('NewWebhook', {
  name: required(NAME),
  url: required(URL_TEXT),
  events: required(EVENTS),
  scopes: SCOPES_OF_NEW,
});

export const WEBHOOK_PATCH = shape(
  'WebhookPatch',
  {
    name: optional(NAME),
    url: optional(URL_TEXT),
    events: optional(EVENTS),
    scopes: optional(SCOPES_PATCH),
    enabled: optional(BOOLEAN),
  },
  { atLeastOneOf: 'webhook' },
);

export function readNewWebhook(body: JsonObject, actor: Actor, faults: Faults): WebhookInput {
  const { scopes: namespaces, ...rest } = NEW_WEBHOOK.read(body, { actor }, faults);
  return { ...rest, namespaces, enabled: undefined };
}

/** Reads the body of a PATCH: only the supplied fields. */
export function readWebhookPatch(body: JsonObject, actor: Actor, faults: Faults): WebhookInput {
  const { scopes: namespaces, ...rest } = WEBHOOK_PATCH.read(body, { actor }, faults);
  return { ...rest, namespaces };
}
