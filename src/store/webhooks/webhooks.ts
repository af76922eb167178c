import { type Insertable, sql } from 'kysely';
import { statement } from '../engine/statement.ts';
import { markWork } from '../engine/unit-marks.ts';
import type { WebhooksTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

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

/** Its deletion has not started. Once it has, the owner no longer sees the webhook, though rows of it may be left. */
const EXISTS = sql<boolean>`(cleanup is null or cleanup <> 'delete')`;

export async function insertWebhook(tx: Tx, webhook: Insertable<WebhooksTable>): Promise<void> {
  await tx.insertInto('webhooks').values(webhook).execute();
}

export async function findWebhook(db: Db, id: string, customerId: string): Promise<WebhookRow | null> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('customer_id', '=', customerId)
    .where(EXISTS)
    .executeTakeFirst();
  return row ?? null;
}

/** Reads a webhook and locks its row until the unit ends: no other unit claims it or settles a delivery meanwhile. */
export async function lockWebhook(tx: Tx, id: string, customerId: string): Promise<WebhookRow | null> {
  const row = await tx
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('customer_id', '=', customerId)
    .where(EXISTS)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** A customer's webhooks, oldest first. */
export function listWebhooks(db: Db, customerId: string): Promise<WebhookRow[]> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('customer_id', '=', customerId)
    .where(EXISTS)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

const IDS = statement<{ after: string; limit: number }, { id: string }>(
  'select id from webhooks where id > :after order by id limit :limit',
);

/** Ids of all webhooks after `after`, in order. */
export async function webhookIds(db: Db, after: string, limit: number): Promise<string[]> {
  const { rows } = await IDS(db, { after, limit });
  return rows.map(({ id }) => id);
}

export async function countWebhooks(db: Db, customerId: string): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select((webhook) => webhook.fn.countAll<number>().as('count'))
    .where('customer_id', '=', customerId)
    .where(EXISTS)
    .executeTakeFirstOrThrow();
  return count;
}

/** The columns that the customer's requests change. Deliveries change the others. */
export type WebhookUpdate = Partial<
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
    | 'disabled_by'
    | 'cleanup'
    | 'claimed_delivery'
  >
>;

/**
 * Wakes the dispatchers when the webhook then has something due.
 * @param change at least one column
 * @returns the webhook after the change, which must be there
 */
export function updateWebhook(tx: Tx, id: string, change: WebhookUpdate): Promise<WebhookRow> {
  if (change.next_due_at != null) markWork(tx, 'deliveries');
  return tx.updateTable('webhooks').set(change).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

export async function deleteWebhookRow(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('webhooks').where('id', '=', id).execute();
}

export type CleanupTask = NonNullable<WebhooksTable['cleanup']>;

/** What ends every delivery of a webhook at once: nothing is enqueued, claimed or settled for it any more. */
const CLOSED = { enabled: 0, next_due_at: null, claim: null, claimed_delivery: null } as const;

/** Starts the deletion of a webhook that the unit has locked. Its owner no longer sees it; later units delete its rows. */
export async function closeWebhook(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ ...CLOSED, notice_due_at: null, cleanup: 'delete' })
    .where('id', '=', id)
    .execute();
}

/** Starts the deletion of every webhook of a customer whose row the unit holds. */
export async function closeWebhooks(tx: Tx, customerId: string): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ ...CLOSED, notice_due_at: null, cleanup: 'delete' })
    .where('customer_id', '=', customerId)
    .execute();
}

/** Disables the webhooks that a user made for a customer whose row the unit holds. Later units end their waiting deliveries. */
export async function pauseWebhooksOf(tx: Tx, customerId: string, userId: string): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ ...CLOSED, notice_due_at: null, cleanup: 'end_waiting' })
    .where('customer_id', '=', customerId)
    .where('created_by', '=', userId)
    .where('enabled', '=', 1)
    .where(EXISTS)
    .execute();
}

/**
 * Pauses the enabled webhooks of a customer beyond the oldest `quota`; the newest of them carries the notice for the owner.
 * The unit must hold the customer's row.
 */
export async function pauseWebhooksAbove(
  tx: Tx,
  customerId: string,
  quota: number,
  now: number,
): Promise<void> {
  const rows = await tx
    .selectFrom('webhooks')
    .select(['id', 'enabled'])
    .where('customer_id', '=', customerId)
    .where(EXISTS)
    .orderBy('created_at')
    .orderBy('id')
    .forUpdate()
    .execute();
  const paused = rows.slice(quota).filter(({ enabled }) => enabled === 1);
  const newest = paused.at(-1);
  if (newest === undefined) return;
  const ids = paused.map(({ id }) => id);
  await tx
    .updateTable('webhooks')
    .set({ ...CLOSED, served_at: now, disabled_by: 'tier', notice_due_at: null, cleanup: 'end_waiting' })
    .where('id', 'in', ids)
    .execute();
  await tx.updateTable('webhooks').set({ notice_due_at: now }).where('id', '=', newest.id).execute();
}

type ToClean = Pick<WebhooksTable, 'id'> & { readonly cleanup: CleanupTask };

const TO_CLEAN = statement<{ after: string; limit: number }, ToClean>(
  'select id, cleanup from webhooks where cleanup is not null and id > :after order by id limit :limit',
);

/** Webhooks after `after` that have something left to do, in order of their ids. */
export async function webhooksToClean(db: Db, after: string, limit: number): Promise<ToClean[]> {
  return (await TO_CLEAN(db, { after, limit })).rows;
}

/** Holds a webhook until the unit ends. @returns false when this task is not left to do */
export async function holdForCleanup(tx: Tx, id: string, task: CleanupTask): Promise<boolean> {
  const row = await tx
    .selectFrom('webhooks')
    .select('id')
    .where('id', '=', id)
    .where('cleanup', '=', task)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

export async function setCleanup(tx: Tx, id: string, cleanup: CleanupTask | null): Promise<void> {
  await tx.updateTable('webhooks').set({ cleanup }).where('id', '=', id).execute();
}

/** The `seq` of the last committed change. A new webhook gets events of later changes only. */
export async function feedHead(tx: Tx): Promise<number> {
  const { seq } = await tx
    .selectFrom('feed_head')
    .select('seq')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  return seq;
}
