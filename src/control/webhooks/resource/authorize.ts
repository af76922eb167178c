import { forbidden, notFound } from '../../../base/errors.ts';
import type { Tx } from '../../../store/store.ts';
import { findWebhook, lockWebhook, type WebhookRow } from '../../../store/webhooks/webhooks.ts';
import { type Actor, reaches } from '../../accounts/actor.ts';
import type { HasStore } from '../../accounts/deps.ts';
import { namespacesOf } from './webhook-resource.ts';

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
