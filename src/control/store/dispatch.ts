import { sql, type Updateable } from 'kysely';
import type { Tier } from '../../core/tiers.ts';
import type { DeliveryEvent } from '../../core/webhooks.ts';
import type { WebhookDeliveriesTable, WebhooksTable } from './schema.ts';
import type { Db, Tx } from './store.ts';

/** Spelt out, not bound: so an engine sees that the index of waiting deliveries has all of these. */
const WAITS = sql<boolean>`status = 'pending'`;

/** A webhook whose row this unit holds, as far as its deliveries need it. */
export interface HeldWebhook {
  readonly id: string;
  readonly user_id: string;
  /** Of its owner. */
  readonly tier: Tier;
  readonly url: string;
  readonly signing_secret: Uint8Array;
  readonly failure_count: number;
  readonly attempt_minutes: string;
}

const HELD = [
  'w.id',
  'w.user_id',
  'u.tier',
  'w.url',
  'w.signing_secret',
  'w.failure_count',
  'w.attempt_minutes',
] as const;

/** The first waiting delivery of a webhook. */
export interface WaitingDelivery {
  readonly id: string;
  readonly event: DeliveryEvent;
  readonly attempts: number;
  readonly created_at: number;
  readonly next_attempt_at: number;
  readonly body: Uint8Array | null;
}

/**
 * When the next webhook may have its turn: it has something due, rests no longer and is nobody's.
 *
 * @param passed customers whose webhooks are not asked about
 * @returns milliseconds since the epoch, the past included; null when no webhook has anything to deliver
 */
export async function nextTurnAt(db: Db, passed: readonly string[]): Promise<number | null> {
  let query = db
    .selectFrom('webhooks')
    .select(
      sql<number | null>`min(case
        when next_due_at >= rests_until and next_due_at >= claimed_until then next_due_at
        when rests_until >= claimed_until then rests_until
        else claimed_until end)`.as('at'),
    )
    .where('next_due_at', 'is not', null)
    .where('enabled', '=', 1);
  if (passed.length > 0) query = query.where('user_id', 'not in', passed);
  return (await query.executeTakeFirst())?.at ?? null;
}

/**
 * Holds up to `limit` webhooks that may have their turn now, the one longest without it first. On PostgreSQL those that
 * another unit holds are passed over. Who takes one writes a claim to it with `saveWebhook`, in the same unit.
 */
export function holdClaimable(
  tx: Tx,
  now: number,
  passed: readonly string[],
  limit: number,
): Promise<HeldWebhook[]> {
  let query = tx
    .selectFrom('webhooks as w')
    .innerJoin('users as u', 'u.id', 'w.user_id')
    .select(HELD)
    .where('w.enabled', '=', 1)
    .where('w.next_due_at', '<=', now)
    .where('w.rests_until', '<=', now)
    .where('w.claimed_until', '<=', now);
  if (passed.length > 0) query = query.where('w.user_id', 'not in', passed);
  // The weaker lock for writing: deliveries may be enqueued beside it, for they only name the webhook.
  return query.orderBy('w.served_at').orderBy('w.id').limit(limit).forNoKeyUpdate('w').skipLocked().execute();
}

/** Holds a webhook as long as it is leased under this very name; null when it is not, or is gone. */
export async function holdClaimed(tx: Tx, id: string, claim: string): Promise<HeldWebhook | null> {
  const row = await tx
    .selectFrom('webhooks as w')
    .innerJoin('users as u', 'u.id', 'w.user_id')
    .select(HELD)
    .where('w.id', '=', id)
    .where('w.claim', '=', claim)
    .where('w.enabled', '=', 1)
    .forNoKeyUpdate('w')
    .executeTakeFirst();
  return row ?? null;
}

/** What a turn changes of its webhook. */
export type TurnChange = Updateable<
  Pick<
    WebhooksTable,
    | 'enabled'
    | 'failure_count'
    | 'last_triggered_at'
    | 'next_due_at'
    | 'rests_until'
    | 'claim'
    | 'claimed_until'
    | 'served_at'
    | 'attempt_minutes'
    | 'notice_due_at'
  >
>;

/** @param id of a webhook that this unit holds */
export async function saveWebhook(tx: Tx, id: string, change: TurnChange): Promise<void> {
  await tx.updateTable('webhooks').set(change).where('id', '=', id).execute();
}

/** The waiting delivery of least `(next_attempt_at, seq)`, due or not. */
export async function firstWaiting(tx: Tx, webhookId: string): Promise<WaitingDelivery | null> {
  const row = await tx
    .selectFrom('webhook_deliveries')
    .select(['id', 'event', 'attempts', 'created_at', 'body'])
    .select((delivery) => delivery.ref('next_attempt_at').$notNull().as('next_attempt_at'))
    .where('webhook_id', '=', webhookId)
    .where(WAITS)
    .where('next_attempt_at', 'is not', null)
    .orderBy('next_attempt_at')
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** Counts an attempt that begins now. */
export async function beginAttempt(tx: Tx, id: string, now: number): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set((delivery) => ({ attempts: delivery('attempts', '+', 1), last_attempt_at: now }))
    .where('id', '=', id)
    .execute();
}

/** Takes back an attempt that was counted and never made. */
export async function takeBackAttempt(tx: Tx, id: string, attempts: number): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({ attempts: attempts - 1 })
    .where('id', '=', id)
    .where('attempts', '=', attempts)
    .where(WAITS)
    .execute();
}

export type DeliveryOutcome = Pick<
  WebhookDeliveriesTable,
  'status' | 'error' | 'response_code' | 'duration_ms' | 'next_attempt_at'
>;

/**
 * Writes how attempt number `attempts` ended. Unless the delivery goes on waiting, its body is erased.
 *
 * @returns false, with nothing written, when it has ended meanwhile or another attempt was begun
 */
export async function recordOutcome(
  tx: Tx,
  id: string,
  attempts: number,
  outcome: DeliveryOutcome,
): Promise<boolean> {
  const row = await tx
    .updateTable('webhook_deliveries')
    .set(outcome.status === 'pending' ? outcome : { ...outcome, body: null })
    .where('id', '=', id)
    .where('attempts', '=', attempts)
    .where(WAITS)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Ends one waiting delivery without an attempt and erases its body. */
export async function endDelivery(tx: Tx, id: string, end: DeliveryEnd): Promise<void> {
  await tx.updateTable('webhook_deliveries').set(ended(end)).where('id', '=', id).execute();
}

/**
 * Ends the waiting deliveries of a webhook without an attempt and erases their bodies. As many as may wait at most are
 * touched (`LIMITS.webhookPending`).
 *
 * @param dueBy only those due at this time, milliseconds since the epoch; null: all of them
 * @returns how many there were
 */
export async function endDeliveries(
  tx: Tx,
  webhookId: string,
  end: DeliveryEnd,
  dueBy: number | null,
): Promise<number> {
  let update = tx
    .updateTable('webhook_deliveries')
    .set(ended(end))
    .where('webhook_id', '=', webhookId)
    .where(WAITS);
  if (dueBy !== null) update = update.where('next_attempt_at', '<=', dueBy);
  return Number((await update.executeTakeFirst()).numUpdatedRows);
}

export type DeliveryEnd = Pick<WebhookDeliveriesTable, 'status' | 'error'>;

function ended(end: DeliveryEnd): Updateable<WebhookDeliveriesTable> {
  return { ...end, next_attempt_at: null, body: null };
}

/** Ends every lease: for an engine on which one process dispatches, when that process starts. */
export async function forgetClaims(tx: Tx): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ claim: null, claimed_until: 0 })
    .where('claimed_until', '>', 0)
    .execute();
}

/** Since when the longest waiting webhook could have had its turn; null when none waits. For the operator's eyes. */
export async function waitingSince(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('webhooks')
    .select(
      sql<number | null>`min(case when next_due_at >= rests_until then next_due_at else rests_until end)`.as(
        'at',
      ),
    )
    .where('next_due_at', 'is not', null)
    .where('enabled', '=', 1)
    .executeTakeFirst();
  return row?.at ?? null;
}
