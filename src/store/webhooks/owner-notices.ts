import type { Tier } from '../../base/tiers.ts';
import { statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';
import { firstOwner } from '../tables/users.ts';

/** A webhook that the server disabled and whose owner has not been notified. */
export interface DueNotice {
  readonly webhookId: string;
  readonly name: string;
  /** Of the customer's first owner. */
  readonly email: string;
  readonly failures: number;
  readonly tier: Tier;
  /** Webhooks of the customer that were paused because the tier allows fewer; 0: it was disabled for its failures. */
  readonly paused: number;
  /** Milliseconds since the epoch. */
  readonly disabledAt: number;
}

const NEXT_NOTICE = statement<object, { notice_due_at: number }>(
  'select notice_due_at from webhooks where notice_due_at is not null order by notice_due_at limit 1',
);

/** When the next notice falls due, the past included; null when there is none. */
export async function nextNoticeAt(db: Db): Promise<number | null> {
  return (await NEXT_NOTICE(db, {})).rows[0]?.notice_due_at ?? null;
}

/**
 * Takes a due notice and postpones it to `until`, so that no other process sends it before. If this process dies, the notice is sent then.
 */
export async function takeNotice(tx: Tx, now: number, until: number): Promise<DueNotice | null> {
  const row = await tx
    .selectFrom('webhooks as w')
    .innerJoin('customers as c', 'c.id', 'w.customer_id')
    .select(['w.id', 'w.name', 'w.customer_id', 'c.tier', 'w.failure_count', 'w.served_at', 'w.disabled_by'])
    .select((webhook) => firstOwner(webhook.ref('w.customer_id')).as('email'))
    .where('w.notice_due_at', '<=', now)
    .orderBy('w.notice_due_at')
    .limit(1)
    .forNoKeyUpdate('w')
    .skipLocked()
    .executeTakeFirst();
  if (row === undefined) return null;
  await tx.updateTable('webhooks').set({ notice_due_at: until }).where('id', '=', row.id).execute();
  const { id: webhookId, name, email, tier, failure_count: failures } = row;
  const paused = row.disabled_by === 'tier' ? await countPaused(tx, row.customer_id) : 0;
  return { webhookId, name, email, failures, tier, paused, disabledAt: row.served_at };
}

/**
 * Moves a notice that was taken until `taken` to another time, or to null, which ends it. Does nothing when the webhook
 * was enabled, or disabled again, since then.
 */
export async function moveNotice(tx: Tx, webhookId: string, taken: number, to: number | null): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ notice_due_at: to })
    .where('id', '=', webhookId)
    .where('notice_due_at', '=', taken)
    .execute();
}

async function countPaused(tx: Tx, customerId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('webhooks')
    .select((webhook) => webhook.fn.countAll<number>().as('count'))
    .where('customer_id', '=', customerId)
    .where('enabled', '=', 0)
    .where('disabled_by', '=', 'tier')
    .executeTakeFirstOrThrow();
  return count;
}
