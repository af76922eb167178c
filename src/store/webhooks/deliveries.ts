import { type Insertable, sql } from 'kysely';
import type { DeliveryStatus, WebhookEvent } from '../../protocol/webhooks.ts';
import type { WebhookDeliveriesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** A delivery without its body, which only an attempt needs. */
export type DeliveryRow = Omit<WebhookDeliveriesTable, 'body'>;

const COLUMNS = [
  'id',
  'webhook_id',
  'event',
  'seq',
  'status',
  'response_code',
  'error',
  'attempts',
  'duration_ms',
  'created_at',
  'last_attempt_at',
  'next_attempt_at',
] as const satisfies readonly (keyof DeliveryRow)[];

/** Written out, not bound: only then the planner uses the partial index of waiting deliveries. */
export const WAITS = sql<boolean>`status = 'pending'`;

/** What a delivery has that the webhook no longer covers. */
const NOT_SENT = { status: 'failed', error: 'webhook_disabled', next_attempt_at: null, body: null } as const;

export async function insertDelivery(tx: Tx, delivery: Insertable<WebhookDeliveriesTable>): Promise<void> {
  await tx.insertInto('webhook_deliveries').values(delivery).execute();
}

/** Reads a delivery of a webhook and holds its row until the unit ends. */
export async function lockDelivery(tx: Tx, id: string, webhookId: string): Promise<DeliveryRow | null> {
  const row = await tx
    .selectFrom('webhook_deliveries')
    .select(COLUMNS)
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** The position of a delivery in the history of its webhook. */
export interface DeliveryPosition {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly id: string;
}

/** A page of a webhook's deliveries after `after`, newest first. @param status null: of every status */
export function listDeliveries(
  db: Db,
  webhookId: string,
  status: DeliveryStatus | null,
  after: DeliveryPosition | null,
  limit: number,
): Promise<DeliveryRow[]> {
  let query = db.selectFrom('webhook_deliveries').select(COLUMNS).where('webhook_id', '=', webhookId);
  if (status === 'pending') query = query.where(WAITS);
  else if (status !== null) query = query.where('status', '=', status);
  if (after !== null) {
    query = query.where((delivery) =>
      delivery(delivery.refTuple('created_at', 'id'), '<', delivery.tuple(after.createdAt, after.id)),
    );
  }
  return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/**
 * Ends up to `limit` waiting deliveries of a webhook that will not be sent any more, and erases their bodies.
 * @param kept events whose deliveries go on waiting
 * @returns how many were ended
 */
export async function endWaiting(
  tx: Tx,
  webhookId: string,
  kept: readonly WebhookEvent[],
  limit: number,
): Promise<number> {
  const ended = await tx
    .updateTable('webhook_deliveries')
    .set(NOT_SENT)
    .where('id', 'in', (delivery) => {
      const waiting = delivery
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('webhook_id', '=', webhookId)
        .where(WAITS)
        .limit(limit);
      // No engine but SQLite takes an empty list.
      return kept.length === 0 ? waiting : waiting.where('event', 'not in', kept);
    })
    .executeTakeFirstOrThrow();
  return Number(ended.numUpdatedRows);
}

/** The bodies of up to `limit` waiting deliveries of a webhook whose ids follow `after`, in order of their ids. */
export async function waitingBodies(
  tx: Tx,
  webhookId: string,
  after: string,
  limit: number,
): Promise<{ readonly id: string; readonly body: Uint8Array }[]> {
  const rows = await tx
    .selectFrom('webhook_deliveries')
    .select(['id', 'body'])
    .where('webhook_id', '=', webhookId)
    .where(WAITS)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  // A waiting delivery has a body; the type knows only that ended ones have none.
  return rows.map(({ id, body }) => ({ id, body: body ?? new Uint8Array() }));
}

/** Ends waiting deliveries that will not be sent any more, and erases their bodies. */
export async function endDeliveries(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.updateTable('webhook_deliveries').set(NOT_SENT).where('id', 'in', ids).where(WAITS).execute();
}

/** When the first waiting delivery of a webhook is due, in milliseconds since the epoch; null when none waits. */
export async function earliestDue(tx: Tx, webhookId: string): Promise<number | null> {
  const { at } = await tx
    .selectFrom('webhook_deliveries')
    .select((delivery) => delivery.fn.min<number | null>('next_attempt_at').as('at'))
    .where('webhook_id', '=', webhookId)
    .where(WAITS)
    .executeTakeFirstOrThrow();
  return at;
}

/** Makes a waiting delivery due at `now`, unless it is due already. @returns the delivery after it */
export function makeDue(tx: Tx, id: string, now: number): Promise<DeliveryRow> {
  return tx
    .updateTable('webhook_deliveries')
    .set({
      next_attempt_at: sql<number>`case when next_attempt_at <= ${now} then next_attempt_at else ${now} end`,
    })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Deletes up to `limit` deliveries of a webhook. @returns how many there were */
export async function deleteSomeDeliveries(tx: Tx, webhookId: string, limit: number): Promise<number> {
  const deleted = await tx
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (delivery) =>
      delivery.selectFrom('webhook_deliveries').select('id').where('webhook_id', '=', webhookId).limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(deleted.numDeletedRows);
}

/** Deletes up to `limit` deliveries of a webhook that have ended and were made before `before`. @returns how many there were */
export async function deleteOldDeliveries(
  tx: Tx,
  webhookId: string,
  before: number,
  limit: number,
): Promise<number> {
  const deleted = await tx
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (delivery) =>
      delivery
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('webhook_id', '=', webhookId)
        .where('created_at', '<', before)
        .where('status', '!=', 'pending')
        .limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(deleted.numDeletedRows);
}
