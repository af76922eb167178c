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
  return (await NEXT_NOTICE.first(db, {}))?.notice_due_at ?? null;
}

interface TakenRow {
  readonly id: string;
  readonly name: string;
  readonly customer_id: string;
  readonly tier: Tier;
  readonly failure_count: number;
  readonly served_at: number;
  readonly disabled_by: 'failures' | 'tier' | null;
  readonly email: string;
}

const NEXT_DUE = statement<{ now: number }, TakenRow>(
  `select w.id, w.name, w.customer_id, c.tier, w.failure_count, w.served_at, w.disabled_by,
    ${firstOwner('w.customer_id')} as email
  from webhooks as w join customers as c on c.id = w.customer_id
  where w.notice_due_at <= :now order by w.notice_due_at limit 1`,
  { lock: 'for no key update of w skip locked' },
);
const POSTPONE = statement<{ id: string; until: number }>(
  'update webhooks set notice_due_at = :until where id = :id',
);
const COUNT_PAUSED = statement<{ customerId: string }, { count: number }>(
  "select count(*) as count from webhooks where customer_id = :customerId and enabled = 0 and disabled_by = 'tier'",
);

/**
 * Takes a due notice and postpones it to `until`, so that no other process sends it before. If this process dies, the notice is sent then.
 */
export async function takeNotice(tx: Tx, now: number, until: number): Promise<DueNotice | null> {
  const row = await NEXT_DUE.first(tx, { now });
  if (row === null) return null;
  const { id: webhookId, name, email, tier, failure_count: failures, customer_id: customerId } = row;
  await POSTPONE.run(tx, { id: webhookId, until });
  const paused = row.disabled_by === 'tier' ? await COUNT_PAUSED.first(tx, { customerId }) : null;
  return { webhookId, name, email, failures, tier, paused: paused?.count ?? 0, disabledAt: row.served_at };
}

const MOVE = statement<{ id: string; taken: number; to: number | null }>(
  'update webhooks set notice_due_at = :to where id = :id and notice_due_at = :taken',
);

/**
 * Moves a notice that was taken until `taken` to another time, or to null, which ends it. Does nothing when the webhook
 * was enabled, or disabled again, since then.
 */
export async function moveNotice(tx: Tx, webhookId: string, taken: number, to: number | null): Promise<void> {
  await MOVE.run(tx, { id: webhookId, taken, to });
}
