import type { Tier } from '../../base/tiers.ts';
import { listStatement, statement } from '../engine/statement.ts';
import type { WebhooksTable } from '../schema.ts';
import type { Tx } from '../store.ts';

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
  readonly last_attempt_ms: number | null;
  /** The delivery whose attempt began last under the lease. */
  readonly claimed_delivery: string | null;
}

const HELD = `w.id, w.customer_id, c.tier, w.url, w.signing_secret, w.failure_count, w.rests_until, w.attempt_minutes,
  w.last_attempt_ms, w.claimed_delivery`;

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

const HOLD_CLAIMED = statement<{ id: string; claim: string }, HeldWebhook>(
  `select ${HELD} from webhooks as w inner join customers as c on c.id = w.customer_id
  where w.id = :id and w.claim = :claim and w.enabled = 1`,
  { lock: 'for no key update of w' },
);

/** Locks a webhook that is leased under this name; null when the lease has another name, or the webhook is gone. */
export async function holdClaimed(tx: Tx, id: string, claim: string): Promise<HeldWebhook | null> {
  return HOLD_CLAIMED.first(tx, { id, claim });
}

const DISABLE = statement<{ id: string; failures: number; now: number }>(
  `update webhooks set enabled = 0, failure_count = :failures, rests_until = 0, claim = null, claimed_delivery = null,
    claimed_until = 0, served_at = :now, next_due_at = null, notice_due_at = :now, disabled_by = 'failures'
  where id = :id`,
);

/** Disables a webhook that this unit holds, and ends its lease. @param failures that it has now, in a row */
export async function disableWebhook(tx: Tx, id: string, failures: number, now: number): Promise<void> {
  await DISABLE.run(tx, { id, failures, now });
}

type Lease = Pick<
  WebhooksTable,
  'id' | 'claimed_until' | 'failure_count' | 'rests_until' | 'last_attempt_ms' | 'attempt_minutes'
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
  rests_until = :rests_until, last_attempt_ms = :last_attempt_ms, attempt_minutes = :attempt_minutes
  where id = :id`,
);

/** Leases a webhook that this unit has locked, or renews its lease, for an attempt that starts now. */
export async function saveLease(tx: Tx, lease: Lease): Promise<void> {
  await SAVE_LEASE.run(tx, lease);
}

type Release = Pick<
  WebhooksTable,
  'id' | 'next_due_at' | 'failure_count' | 'rests_until' | 'last_attempt_ms'
> & {
  readonly now: number;
};

const END_LEASE = statement<Release>(
  `update webhooks set claim = null, claimed_delivery = null, claimed_until = 0, served_at = :now,
  next_due_at = :next_due_at, failure_count = :failure_count, rests_until = :rests_until,
  last_attempt_ms = :last_attempt_ms where id = :id`,
);

/** Ends the lease of a webhook that this unit has locked. */
export async function endLease(tx: Tx, release: Release): Promise<void> {
  await END_LEASE.run(tx, release);
}
