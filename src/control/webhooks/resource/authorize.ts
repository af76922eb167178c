import { forbidden, notFound } from '../../../core/errors.ts';
import { type Actor, reaches } from '../../accounts/actor.ts';
import type { Deps } from '../../accounts/deps.ts';
import type { Tx } from '../../store/store.ts';
import { findWebhook, lockWebhook, type WebhookRow } from '../../store/webhooks/webhooks.ts';
import { namespacesOf } from './webhook-resource.ts';

/**
 * Whether a webhook of these namespaces lies within the credential's reach. One that is told of all namespaces tells
 * more than a key that is confined to some may know.
 */
export function withinReach(actor: Actor, namespaces: readonly string[]): boolean {
  if (actor.namespaces === null) return true;
  return namespaces.length > 0 && namespaces.every((name) => reaches(actor, name));
}

/** The customer's webhook. @throws AppError 404, or 403 outside the key's allowlist */
export async function ownWebhook({ store }: Deps, actor: Actor, id: string): Promise<WebhookRow> {
  return judged(actor, await findWebhook(store.read, id, actor.customerId));
}

/** The same inside a unit of work, its row held until the unit ends. */
export async function holdOwnWebhook(tx: Tx, actor: Actor, id: string): Promise<WebhookRow> {
  return judged(actor, await lockWebhook(tx, id, actor.customerId));
}

function judged(actor: Actor, row: WebhookRow | null): WebhookRow {
  if (row === null) throw notFound('Webhook');
  if (!withinReach(actor, namespacesOf(row))) throw forbidden('API key does not reach this webhook');
  return row;
}
