import { sql } from 'kysely';
import type { WebhooksTable } from '../schema.ts';
import type { Db } from '../store.ts';

// These expressions are written as in migration 0007: only then the planner uses its index `webhooks_turn`.
const IS_SLOW = sql<number>`(case when last_attempt_ms >= 1000 then 1 else 0 end)`;
const DUE_AT = sql<number>`(case when next_due_at >= rests_until and next_due_at >= claimed_until then next_due_at
  when rests_until >= claimed_until then rests_until else claimed_until end)`;
const HAS_DUE = sql<boolean>`enabled = 1 and next_due_at is not null`;

/** A webhook with a due delivery, no pause and no lease. */
export type WaitingWebhook = Pick<WebhooksTable, 'id' | 'user_id' | 'served_at'>;

export interface WaitingFilter {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the last attempt took `LIMITS.webhookFastMs` or longer. */
  readonly isSlow: boolean;
  /** Customers whose webhooks are left out. */
  readonly passed: readonly string[];
  readonly limit: number;
}

/** Webhooks that may be attempted now, the one that has waited longest first. */
export function waitingWebhooks(db: Db, filter: WaitingFilter): Promise<WaitingWebhook[]> {
  const { now, isSlow, passed, limit } = filter;
  let query = db
    .selectFrom('webhooks')
    .select(['id', 'user_id', 'served_at'])
    .where(HAS_DUE)
    .where(IS_SLOW, '=', sql.lit(isSlow ? 1 : 0))
    .where(DUE_AT, '<=', now);
  if (passed.length > 0) query = query.where('user_id', 'not in', passed);
  return query.orderBy(DUE_AT).limit(limit).execute();
}

/**
 * The earliest time after `now` at which a webhook may be attempted. Two look-ups in an index, however many wait.
 * @returns milliseconds since the epoch; null when there is none
 */
export async function nextDueAfter(db: Db, now: number): Promise<number | null> {
  const { fast, slow } = await db
    .selectNoFrom((from) =>
      ([0, 1] as const).map((isSlow) =>
        from
          .selectFrom('webhooks')
          .select(DUE_AT.as('at'))
          .where(HAS_DUE)
          .where(IS_SLOW, '=', sql.lit(isSlow))
          .where(DUE_AT, '>', now)
          .orderBy(DUE_AT)
          .limit(1)
          .as(isSlow === 0 ? 'fast' : 'slow'),
      ),
    )
    .$castTo<{ fast: number | null; slow: number | null }>()
    .executeTakeFirstOrThrow();
  if (fast === null || slow === null) return fast ?? slow;
  return Math.min(fast, slow);
}
