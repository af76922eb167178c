import type { DeliveryEvent } from '../../protocol/webhooks.ts';
import { statement } from '../engine/statement.ts';
import type { WebhookDeliveriesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** The first waiting delivery of a webhook. */
export interface WaitingDelivery {
  readonly id: string;
  readonly attempts: number;
  readonly next_attempt_at: number;
  readonly has_body: boolean | 0 | 1;
}

/** A delivery whose attempt is counted. */
export interface BegunDelivery {
  readonly id: string;
  readonly event: DeliveryEvent;
  /** This one included. */
  readonly attempts: number;
  readonly created_at: number;
  readonly next_attempt_at: number;
  readonly body: Uint8Array;
}

const FIRST_WAITING = statement<{ webhookId: string }, WaitingDelivery>(
  `select id, attempts, next_attempt_at, body is not null as has_body from webhook_deliveries
  where webhook_id = :webhookId and status = 'pending' and next_attempt_at is not null
  order by next_attempt_at, seq limit 1`,
);

/** The waiting delivery of least `(next_attempt_at, seq)`, due or not. */
export async function firstWaiting(tx: Tx, webhookId: string): Promise<WaitingDelivery | null> {
  return FIRST_WAITING.first(tx, { webhookId });
}

interface Begin {
  readonly webhookId: string;
  readonly now: number;
  readonly attemptsMax: number;
}

const BEGIN_FIRST = statement<Begin, BegunDelivery>(
  `update webhook_deliveries set attempts = attempts + 1, last_attempt_at = :now
  where id = (select id from webhook_deliveries
    where webhook_id = :webhookId and status = 'pending' and next_attempt_at <= :now
    order by next_attempt_at, seq limit 1)
  and attempts < :attemptsMax and body is not null and status = 'pending'
  returning id, event, attempts, created_at, next_attempt_at, body`,
);

/**
 * Counts an attempt that starts now of the delivery that `firstWaiting` returns.
 * @returns the delivery after the update; null, with nothing written, when none is due, or it has no body or no attempt left
 */
export async function beginFirst(tx: Tx, begin: Begin): Promise<BegunDelivery | null> {
  return BEGIN_FIRST.first(tx, begin);
}

const BEGUN = statement<{ id: string }, BegunDelivery>(
  `select id, event, attempts, created_at, next_attempt_at, body from webhook_deliveries
  where id = :id and body is not null and status = 'pending'`,
);

/** A delivery whose attempt was begun before, as `beginFirst` gave it; null when it has ended meanwhile. */
export async function begunDelivery(tx: Tx, id: string): Promise<BegunDelivery | null> {
  return BEGUN.first(tx, { id });
}

const TAKE_BACK = statement<{ id: string; attempts: number }>(
  `update webhook_deliveries set attempts = attempts - 1
  where id = :id and attempts = :attempts and status = 'pending'`,
);

/** Uncounts an attempt that was not made. */
export async function takeBackAttempt(tx: Tx, id: string, attempts: number): Promise<void> {
  await TAKE_BACK.run(tx, { id, attempts });
}

export type DeliveryResult = Pick<
  WebhookDeliveriesTable,
  'status' | 'error' | 'response_code' | 'duration_ms' | 'next_attempt_at'
>;

type AttemptResult = DeliveryResult & { readonly id: string; readonly attempts: number };

const recordWith = (erase: string) =>
  statement<AttemptResult>(
    `update webhook_deliveries set status = :status, error = :error, response_code = :response_code,
    duration_ms = :duration_ms, next_attempt_at = :next_attempt_at ${erase}
    where id = :id and attempts = :attempts and status = 'pending'`,
  );
const RECORD_RETRY = recordWith('');
const RECORD_END = recordWith(', body = null');

/**
 * Writes the result of attempt number `attempts`. It erases the body unless the delivery stays pending.
 * @returns false, with nothing written, when it has ended meanwhile or another attempt was begun
 */
export async function recordResult(
  tx: Tx,
  id: string,
  attempts: number,
  outcome: DeliveryResult,
): Promise<boolean> {
  const record = outcome.status === 'pending' ? RECORD_RETRY : RECORD_END;
  return (await record.run(tx, { ...outcome, id, attempts })) === 1;
}

export type DeliveryEnd = Pick<WebhookDeliveriesTable, 'status' | 'error'>;

const ENDED = 'status = :status, error = :error, next_attempt_at = null, body = null';

const END = statement<DeliveryEnd & { id: string }>(`update webhook_deliveries set ${ENDED} where id = :id`);

/** Ends one waiting delivery without an attempt and erases its body. */
export async function endDelivery(tx: Tx, id: string, end: DeliveryEnd): Promise<void> {
  await END.run(tx, { ...end, id });
}

const END_ALL = statement<DeliveryEnd & { webhookId: string; dueBy: number }>(
  `update webhook_deliveries set ${ENDED}
  where webhook_id = :webhookId and status = 'pending' and next_attempt_at <= :dueBy`,
);

/**
 * Ends the waiting deliveries of a webhook without an attempt and erases their bodies. As many as may wait at most are
 * touched (`LIMITS.webhookPending`).
 * @param dueBy only those due at this time, milliseconds since the epoch; null: all of them
 * @returns how many there were
 */
export function endDeliveries(
  tx: Tx,
  webhookId: string,
  { status, error }: DeliveryEnd,
  dueBy: number | null,
): Promise<number> {
  return END_ALL.run(tx, { webhookId, status, error, dueBy: dueBy ?? Number.MAX_SAFE_INTEGER });
}

const END_LEASES = statement<object>(
  'update webhooks set claim = null, claimed_delivery = null, claimed_until = 0 where claimed_until > 0',
);

/** Ends every lease: for an engine on which one process dispatches, when that process starts. */
export async function endAllLeases(tx: Tx): Promise<void> {
  await END_LEASES.run(tx, {});
}

const WAITING_SINCE = statement<object, { at: number | null }>(
  `select min(case when next_due_at >= rests_until then next_due_at else rests_until end) as at from webhooks
  where next_due_at is not null and enabled = 1`,
);

/** Since when the longest waiting webhook could have been attempted; null when none waits. For a metric. */
export async function waitingSince(db: Db): Promise<number | null> {
  return (await WAITING_SINCE.first(db, {}))?.at ?? null;
}
