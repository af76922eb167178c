import { type Faults, Fields, type JsonObject } from '../../../core/input/fields.ts';
import { LIMITS } from '../../../core/limits.ts';
import { isLabel } from '../../../core/names/labels.ts';
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks.ts';
import type { Actor } from '../../accounts/actor.ts';
import { withinReach } from './authorize.ts';

/** What a body says of a webhook, lists without repetition. Undefined: not given, or faulty and the fault recorded. */
export interface WebhookInput {
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly events: readonly WebhookEvent[] | undefined;
  /** Empty: all of the customer's. */
  readonly namespaces: readonly string[] | undefined;
  readonly enabled: boolean | undefined;
}

const NEW_FIELDS = ['name', 'url', 'events', 'scopes'];
const PATCH_FIELDS = [...NEW_FIELDS, 'enabled'];

export const NO_SUCH_NAMESPACE = 'scopes.namespaces has a namespace that does not exist';
const OUT_OF_REACH = 'scopes.namespaces must name namespaces within reach of the API key';

/** Reads the body of POST /webhooks. */
export function readNewWebhook(body: JsonObject, actor: Actor, faults: Faults): WebhookInput {
  const fields = new Fields(body, NEW_FIELDS, faults);
  const name = fields.requiredName('name', LIMITS.webhookName);
  const url = readUrl(fields, fields.requiredText('url'));
  if (!fields.has('events')) fields.fault('events', 'is required');
  const events = readEvents(fields);
  const scopes = fields.has('scopes') ? fields.object('scopes') : {};
  const namespaces = scopes && readNamespaces({ namespaces: [], ...scopes }, actor, faults);
  return { name, url, events, namespaces, enabled: undefined };
}

/** Reads the body of a PATCH: only the supplied fields. */
export function readWebhookPatch(body: JsonObject, actor: Actor, faults: Faults): WebhookInput {
  const fields = new Fields(body, PATCH_FIELDS, faults);
  const name = fields.has('name') ? fields.requiredName('name', LIMITS.webhookName) : undefined;
  const url = readUrl(fields, fields.text('url'));
  const events = readEvents(fields);
  const scopes = fields.object('scopes');
  const namespaces = scopes && readNamespaces(scopes, actor, faults);
  const enabled = readFlag(body, fields, 'enabled');
  if (Object.keys(body).length === 0) faults.add(`webhook must have one of ${PATCH_FIELDS.join(', ')}`);
  return { name, url, events, namespaces, enabled };
}

/** Its length alone: where it may lead is not for us to say. */
function readUrl(fields: Fields, url: string | undefined): string | undefined {
  if (url === undefined || url.length <= LIMITS.webhookUrl) return url;
  fields.fault('url', `must have at most ${LIMITS.webhookUrl} characters`);
  return undefined;
}

function readEvents(fields: Fields): readonly WebhookEvent[] | undefined {
  // As many as anybody could mean, repetitions included.
  const events = fields.list('events', LIMITS.webhookNamespaces);
  if (events === undefined) return undefined;
  if (events.length === 0) fields.fault('events', 'must not be empty');
  else if (!events.every(isWebhookEvent)) {
    fields.fault('events', `must have only ${Object.keys(WEBHOOK_EVENTS).join(', ')}`);
  } else return [...new Set(events)];
  return undefined;
}

function readNamespaces(scopes: JsonObject, actor: Actor, faults: Faults): readonly string[] | undefined {
  const fields = new Fields(scopes, ['namespaces'], faults, 'scopes');
  if (!fields.has('namespaces')) fields.fault('namespaces', 'is required');
  const namespaces = fields.list('namespaces', LIMITS.webhookNamespaces);
  if (namespaces === undefined) return undefined;
  if (!namespaces.every(isText)) fields.fault('namespaces', 'must have only strings');
  else if (!withinReach(actor, namespaces)) faults.add(OUT_OF_REACH);
  else if (!namespaces.every(isLabel)) faults.add(NO_SUCH_NAMESPACE);
  else return [...new Set(namespaces)];
  return undefined;
}

function readFlag(body: JsonObject, fields: Fields, name: string): boolean | undefined {
  if (!fields.has(name)) return undefined;
  const value = body[name];
  if (typeof value === 'boolean') return value;
  fields.fault(name, 'must be true or false');
  return undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
