import { listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';

interface ServedAfter {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** An id; those behind it. */
  readonly after: string;
  readonly limit: number;
}

const SERVED_AFTER = statement<ServedAfter, { id: string }>(
  `select id from webhooks where enabled = 1 and next_due_at is not null and served_at > :at and id > :after
  order by id limit :limit`,
);

/** Webhooks with waiting deliveries that were served, or leased, after a time that is still to come: in order of their ids. */
export async function servedAfter(db: Db, query: ServedAfter): Promise<string[]> {
  return (await SERVED_AFTER.all(db, query)).map(({ id }) => id);
}

interface TakeBack {
  readonly ids: readonly string[];
  readonly at: number;
  readonly now: number;
}

// In the order in which the fan-out holds them.
const HOLD = listStatement<Omit<TakeBack, 'now'>, { id: string }>(
  'select id from webhooks where id in (:ids) and served_at > :at order by id',
  'text',
  { lock: 'for no key update' },
);

const RETRIES = listStatement<TakeBack>(
  `update webhook_deliveries set next_attempt_at = next_attempt_at - (last_attempt_at - :now), last_attempt_at = :now
  where webhook_id in (:ids) and status = 'pending' and last_attempt_at > :at and next_attempt_at > :at`,
  'text',
);

const WEBHOOKS = listStatement<TakeBack>(
  `update webhooks set served_at = :now,
    rests_until = case when rests_until > :at then rests_until - (served_at - :now) else rests_until end,
    claimed_until = case when claimed_until > :at then claimed_until - (served_at - :now) else claimed_until end,
    next_due_at = (select min(d.next_attempt_at) from webhook_deliveries as d
      where d.webhook_id = webhooks.id and d.status = 'pending')
  where id in (:ids)`,
  'text',
);

/**
 * Retries, rests and leases of these webhooks, as far as a clock gave them that was ahead: as if it had given them `now`.
 * @param back.at what happened after it was told by that clock
 */
export async function takeBackTimes(tx: Tx, back: TakeBack): Promise<void> {
  const ids = (await HOLD.all(tx, back)).map(({ id }) => id);
  if (ids.length === 0) return;
  await RETRIES.run(tx, { ...back, ids });
  await WEBHOOKS.run(tx, { ...back, ids });
}
