import { type Faults, Fields, isText, type JsonObject } from '../../../core/input/fields.ts';
import { LIMITS } from '../../../core/limits.ts';
import { isLabel } from '../../../core/names/labels.ts';
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks.ts';
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

const NEW_FIELDS = ['name', 'url', 'events', 'scopes'];
const PATCH_FIELDS = [...NEW_FIELDS, 'enabled'];
const EVENT_NAMES = Object.keys(WEBHOOK_EVENTS).join(', ');

export const NO_SUCH_NAMESPACE = 'scopes.namespaces has a namespace that does not exist';
const NOT_IN_ALLOWLIST = 'scopes.namespaces must name namespaces within reach of the API key';

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
  const enabled = fields.boolean('enabled');
  if (Object.keys(body).length === 0) faults.add(`webhook must have one of ${PATCH_FIELDS.join(', ')}`);
  return { name, url, events, namespaces, enabled };
}

/** Checks the length only; `checkUrl` checks the target. */
function readUrl(fields: Fields, url: string | undefined): string | undefined {
  if (url === undefined || url.length <= LIMITS.webhookUrl) return url;
  fields.fault('url', `must have at most ${LIMITS.webhookUrl} characters`);
  return undefined;
}

function readEvents(fields: Fields): readonly WebhookEvent[] | undefined {
  const events = fields.listOf('events', LIMITS.webhookEvents, isWebhookEvent, EVENT_NAMES);
  if (events?.length !== 0) return events;
  fields.fault('events', 'must not be empty');
  return undefined;
}

function readNamespaces(scopes: JsonObject, actor: Actor, faults: Faults): readonly string[] | undefined {
  const fields = new Fields(scopes, ['namespaces'], faults, 'scopes');
  const namespaces = fields.requiredListOf('namespaces', LIMITS.webhookNamespaces, isText, 'strings');
  if (namespaces === undefined) return undefined;
  if (!withinReach(actor, namespaces)) faults.add(NOT_IN_ALLOWLIST);
  else if (!namespaces.every(isLabel)) faults.add(NO_SUCH_NAMESPACE);
  else return namespaces;
  return undefined;
}
