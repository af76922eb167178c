import { LIMITS } from '../../../base/limits.ts';
import { type Faults, type Fields, isText, type JsonObject } from '../../../protocol/input/fields.ts';
import { BOOLEAN, listOf, nameOf } from '../../../protocol/input/readers.ts';
import { type Field, optional, type Reader, required, shape } from '../../../protocol/input/shape.ts';
import { folded, isLabel } from '../../../protocol/names/labels.ts';
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEvent } from '../../../protocol/webhooks.ts';
import type { Actor } from '../../accounts/actor.ts';
import { withinReach } from './authorize.ts';

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
