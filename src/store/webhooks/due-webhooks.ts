import { listStatement, statement } from '../engine/statement.ts';
import type { WebhooksTable } from '../schema.ts';
import type { Db } from '../store.ts';

// These expressions are written as in migration 0007: only then the planner uses its index `webhooks_turn`.
const IS_SLOW = '(case when last_attempt_ms >= 1000 then 1 else 0 end)';
const DUE_AT = `(case when next_due_at >= rests_until and next_due_at >= claimed_until then next_due_at
  when rests_until >= claimed_until then rests_until else claimed_until end)`;
const HAS_DUE = 'enabled = 1 and next_due_at is not null';

/** A webhook with a due delivery, no pause and no lease. */
export type WaitingWebhook = Pick<WebhooksTable, 'id' | 'customer_id' | 'served_at'>;

export interface WaitingFilter {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the last attempt took `LIMITS.webhookFastMs` or longer. */
  readonly isSlow: boolean;
  /** Customers whose webhooks are left out. */
  readonly passed: readonly string[];
  readonly limit: number;
}

interface Waiting {
  readonly now: number;
  readonly ids: readonly string[];
  readonly limit: number;
}

/** @param isSlow 1 or 0 */
const waiting = (isSlow: number) =>
  listStatement<Waiting, WaitingWebhook>(
    `select id, customer_id, served_at from webhooks
    where ${HAS_DUE} and ${IS_SLOW} = ${isSlow} and ${DUE_AT} <= :now and customer_id not in (:ids)
    order by ${DUE_AT} limit :limit`,
    'text',
  );
const WAITING_FAST = waiting(0);
const WAITING_SLOW = waiting(1);

/** Webhooks that may be attempted now, the one that has waited longest first. */
export async function waitingWebhooks(db: Db, filter: WaitingFilter): Promise<WaitingWebhook[]> {
  const { now, isSlow, passed: ids, limit } = filter;
  return (isSlow ? WAITING_SLOW : WAITING_FAST).all(db, { now, ids, limit });
}

const nextDue = (isSlow: number) => `select ${DUE_AT} from webhooks
  where ${HAS_DUE} and ${IS_SLOW} = ${isSlow} and ${DUE_AT} > :now order by ${DUE_AT} limit 1`;

const NEXT_DUE = statement<{ now: number }, { fast: number | null; slow: number | null }>(
  `select (${nextDue(0)}) as fast, (${nextDue(1)}) as slow`,
);

/**
 * The earliest time after `now` at which a webhook may be attempted. Two look-ups in an index, however many wait.
 * @returns milliseconds since the epoch; null when there is none
 */
export async function nextDueAfter(db: Db, now: number): Promise<number | null> {
  const { fast = null, slow = null } = (await NEXT_DUE.first(db, { now })) ?? {};
  if (fast === null || slow === null) return fast ?? slow;
  return Math.min(fast, slow);
}
