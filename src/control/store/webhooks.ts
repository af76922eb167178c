import type { Insertable } from 'kysely';
import type { WebhooksTable } from './schema.ts';
import type { Db, Tx } from './store.ts';
import { markWork } from './unit-marks.ts';

export type WebhookRow = WebhooksTable;

/** What a new webhook has in the columns that its deliveries move. */
export const NEVER_SERVED = {
  failure_count: 0,
  last_triggered_at: null,
  next_due_at: null,
  rests_until: 0,
  claim: null,
  claimed_delivery: null,
  claimed_until: 0,
  served_at: 0,
  last_attempt_ms: null,
  attempt_minutes: '[]',
  notice_due_at: null,
  disabled_by: null,
  cleanup: null,
} as const satisfies Partial<WebhooksTable>;

export async function insertWebhook(tx: Tx, webhook: Insertable<WebhooksTable>): Promise<void> {
  await tx.insertInto('webhooks').values(webhook).execute();
}

export async function findWebhook(db: Db, id: string, userId: string): Promise<WebhookRow | null> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row ?? null;
}

/** Reads a webhook and holds its row until the unit ends: nobody claims it or settles one of its deliveries meanwhile. */
export async function lockWebhook(tx: Tx, id: string, userId: string): Promise<WebhookRow | null> {
  const row = await tx
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** A customer's webhooks, oldest first. */
export function listWebhooks(db: Db, userId: string): Promise<WebhookRow[]> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Ids of all webhooks after `after`, in order. */
export async function webhookIds(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select('id')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export async function countWebhooks(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select((webhook) => webhook.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return count;
}

/** What the customer's own requests change; the counters and the turn of a webhook move with its deliveries. */
export type WebhookChange = Partial<
  Pick<
    WebhooksTable,
    | 'name'
    | 'url'
    | 'events'
    | 'namespaces'
    | 'enabled'
    | 'failure_count'
    | 'secret_digest'
    | 'signing_secret'
    | 'starts_after'
    | 'next_due_at'
    | 'rests_until'
    | 'claim'
    | 'notice_due_at'
  >
>;

/**
 * Wakes the dispatchers when the webhook then has something due.
 *
 * @param change at least one column
 * @returns the webhook after the change, which must be there
 */
export function updateWebhook(tx: Tx, id: string, change: WebhookChange): Promise<WebhookRow> {
  if (change.next_due_at != null) markWork(tx, 'deliveries');
  return tx.updateTable('webhooks').set(change).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

export async function deleteWebhookRow(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('webhooks').where('id', '=', id).execute();
}

/** The `seq` of the last change that is committed: those after it are the ones a new webhook may be told of. */
export async function feedHead(tx: Tx): Promise<number> {
  const { seq } = await tx
    .selectFrom('feed_head')
    .select('seq')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  return seq;
}
