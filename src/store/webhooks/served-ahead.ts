import { listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';

interface ServedAfter {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** An id; those behind it. */
  readonly after: string;
  readonly limit: number;
}

const HAS_RETRY = `exists (select 1 from webhook_deliveries as d
  where d.webhook_id = webhooks.id and d.status = 'pending' and d.last_attempt_at > :at and d.next_attempt_at > :at)`;

const SERVED_AFTER = statement<ServedAfter, { id: string }>(
  `select id from webhooks where id > :after and (served_at > :at or ${HAS_RETRY}) order by id limit :limit`,
);

/** Webhooks that were served, or attempted, after a time that is still to come: in order of their ids. It reads all webhooks. */
export async function servedAfter(db: Db, query: ServedAfter): Promise<string[]> {
  return (await SERVED_AFTER.all(db, query)).map(({ id }) => id);
}

interface TakeBack {
  readonly ids: readonly string[];
  readonly at: number;
  readonly now: number;
}

// In the order in which the fan-out holds them.
const HOLD = listStatement<Pick<TakeBack, 'ids'>, { id: string }>(
  'select id from webhooks where id in (:ids) order by id',
  'text',
  { lock: 'for no key update' },
);

const RETRIES = listStatement<TakeBack>(
  `update webhook_deliveries set last_attempt_at = :now, next_attempt_at =
    case when next_attempt_at > last_attempt_at then next_attempt_at - (last_attempt_at - :now) else :now end
  where webhook_id in (:ids) and status = 'pending' and last_attempt_at > :at and next_attempt_at > :at`,
  'text',
);

const RESTS = listStatement<TakeBack>(
  `update webhooks set served_at = :now,
    rests_until = case when rests_until > :at then rests_until - (served_at - :now) else rests_until end,
    claimed_until = case when claim is null then 0 else claimed_until end
  where id in (:ids) and served_at > :at`,
  'text',
);

const NEXT_DUE = listStatement<Pick<TakeBack, 'ids'>>(
  `update webhooks set next_due_at = (select min(d.next_attempt_at) from webhook_deliveries as d
    where d.webhook_id = webhooks.id and d.status = 'pending')
  where id in (:ids) and next_due_at is not null`,
  'text',
);

/**
 * Retries and rests of these webhooks, as far as a clock gave them that was ahead: as if it had given them `now`. A lease stays: its attempt may
 * be under way.
 * @param back.at what happened after it was told by that clock
 */
export async function takeBackTimes(tx: Tx, back: TakeBack): Promise<void> {
  const ids = (await HOLD.all(tx, back)).map(({ id }) => id);
  if (ids.length === 0) return;
  await RETRIES.run(tx, { ...back, ids });
  await RESTS.run(tx, { ...back, ids });
  await NEXT_DUE.run(tx, { ids });
}
