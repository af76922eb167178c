import type { Tier } from '../../base/limits.ts';
import type { DeliveryEvent } from '../../protocol/webhooks.ts';
import { listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';
import type { WebhookDeliveriesTable } from './deliveries.ts';
import type { WebhookRow } from './webhooks.ts';

// These expressions are written as in `migrations/second-release.ts`: only then the planner uses its index `webhooks_turn`.
const IS_SLOW = '(case when last_attempt_ms >= 1000 then 1 else 0 end)';
const DUE_AT = `(case when next_due_at >= rests_until and next_due_at >= claimed_until then next_due_at
  when rests_until >= claimed_until then rests_until else claimed_until end)`;
const HAS_DUE = 'enabled = 1 and next_due_at is not null';

/** A webhook with a due delivery, no pause and no lease. */
export type WaitingWebhook = Pick<WebhookRow, 'id' | 'customer_id' | 'served_at'>;

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

/** A webhook whose row this unit holds, as far as its deliveries need it. */
export interface HeldWebhook {
  readonly id: string;
  readonly customer_id: string;
  /** Of its owner. */
  readonly tier: Tier;
  readonly url: string;
  readonly signing_secret: Uint8Array;
  readonly failure_count: number;
  readonly rests_until: number;
  readonly attempt_minutes: string;
  readonly health: string;
  readonly last_attempt_ms: number | null;
  /** The delivery whose attempt began last under the lease. */
  readonly claimed_delivery: string | null;
}

const HELD = `w.id, w.customer_id, c.tier, w.url, w.signing_secret, w.failure_count, w.rests_until, w.attempt_minutes,
  w.health, w.last_attempt_ms, w.claimed_delivery`;

const HOLD_CLAIMABLE = listStatement<{ ids: readonly string[]; now: number }, HeldWebhook>(
  `select ${HELD} from webhooks as w inner join customers as c on c.id = w.customer_id
  where w.id in (:ids) and w.enabled = 1 and w.next_due_at <= :now and w.rests_until <= :now and w.claimed_until <= :now`,
  'text',
  // The weaker lock for writing: deliveries may be enqueued beside it, for they only name the webhook.
  { lock: 'for no key update of w skip locked' },
);

/**
 * Locks those of the given webhooks that may be attempted now. On PostgreSQL it skips those that another unit has locked. The
 * caller leases each with `saveLease`, in the same unit.
 */
export async function holdClaimable(tx: Tx, now: number, ids: readonly string[]): Promise<HeldWebhook[]> {
  return HOLD_CLAIMABLE.all(tx, { ids, now });
}

// By the id alone, so that it waits for a claim whose commit is under way, and sees it.
const HOLD_ENABLED = statement<{ id: string }, HeldWebhook & { readonly claim: string | null }>(
  `select ${HELD}, w.claim from webhooks as w inner join customers as c on c.id = w.customer_id
  where w.id = :id and w.enabled = 1`,
  { lock: 'for no key update of w' },
);

/** Locks a webhook that is leased under this name; null when the lease has another name, or the webhook is gone. */
export async function holdClaimed(tx: Tx, id: string, claim: string): Promise<HeldWebhook | null> {
  const held = await HOLD_ENABLED.first(tx, { id });
  return held?.claim === claim ? held : null;
}

type Disabled = Pick<WebhookRow, 'id' | 'name'>;

const DISABLE = statement<{ id: string; failures: number; health: string; now: number }, Disabled>(
  `update webhooks set enabled = 0, failure_count = :failures, rests_until = 0, claim = null, claimed_delivery = null,
    claimed_until = 0, served_at = :now, next_due_at = null, notice_due_at = :now, health = :health, disabled_by = 'failures',
    disabled_at = :now, disabled_user = null
  where id = :id returning id, name`,
);

/** Disables a webhook that this unit holds, and ends its lease. @param failures that it has now, in a row */
export function disableWebhook(
  tx: Tx,
  id: string,
  { failure_count: failures, health }: Pick<WebhookRow, 'failure_count' | 'health'>,
  now: number,
): Promise<Disabled | null> {
  return DISABLE.first(tx, { id, failures, health, now });
}

type Lease = Pick<
  WebhookRow,
  'id' | 'claimed_until' | 'failure_count' | 'rests_until' | 'last_attempt_ms' | 'health' | 'attempt_minutes'
> & {
  readonly claim: string;
  readonly claimed_delivery: string;
  readonly next_due_at: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

const SAVE_LEASE = statement<Lease>(
  `update webhooks set claim = :claim, claimed_delivery = :claimed_delivery, claimed_until = :claimed_until,
  served_at = :now, last_triggered_at = :now, next_due_at = :next_due_at, failure_count = :failure_count,
  rests_until = :rests_until, last_attempt_ms = :last_attempt_ms, health = :health, attempt_minutes = :attempt_minutes
  where id = :id`,
);

/** Leases a webhook that this unit has locked, or renews its lease, for an attempt that starts now. */
export async function saveLease(tx: Tx, lease: Lease): Promise<void> {
  await SAVE_LEASE.run(tx, lease);
}

type Release = Pick<
  WebhookRow,
  'id' | 'next_due_at' | 'failure_count' | 'rests_until' | 'last_attempt_ms' | 'health'
> & {
  readonly now: number;
};

const END_LEASE = statement<Release>(
  `update webhooks set claim = null, claimed_delivery = null, claimed_until = 0, served_at = :now,
  next_due_at = :next_due_at, failure_count = :failure_count, rests_until = :rests_until,
  last_attempt_ms = :last_attempt_ms, health = :health where id = :id`,
);

/** Ends the lease of a webhook that this unit has locked. */
export async function endLease(tx: Tx, release: Release): Promise<void> {
  await END_LEASE.run(tx, release);
}

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
export function endUnsent(
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
