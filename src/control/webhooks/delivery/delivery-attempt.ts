import { TIERS } from '../../../base/tiers.ts';
import type { DeliveryEvent } from '../../../protocol/webhooks.ts';
import type { Tx } from '../../../store/store.ts';
import * as rows from '../../../store/webhooks/dispatch.ts';
import * as leases from '../../../store/webhooks/leases.ts';
import { countAttempt } from './hourly-attempts.ts';

/** A webhook leased to this process and the delivery to attempt. The attempt is counted before it is sent. */
export interface DeliveryAttempt {
  readonly claim: string;
  readonly webhookId: string;
  readonly customerId: string;
  readonly url: string;
  readonly encryptedSecret: Uint8Array;
  readonly deliveryId: string;
  readonly event: DeliveryEvent;
  readonly body: Uint8Array;
  readonly attempt: number;
  readonly createdAt: number;
}

export interface AttemptRules {
  readonly now: number;
  /** Milliseconds until another process may claim the webhook, unless the lease is renewed. */
  readonly leaseMs: number;
  /** Seconds before each attempt. */
  readonly schedule: readonly number[];
}

export interface EndedCounts {
  readonly failed: number;
  readonly dropped: number;
}

export const NONE_ENDED: EndedCounts = { failed: 0, dropped: 0 };

export interface ClaimRules extends AttemptRules {
  /** The new leases' id; must be unique, because it fences writers that lost a lease. */
  readonly claim: string;
  readonly ids: readonly string[];
}

export interface Claimed {
  readonly attempts: readonly DeliveryAttempt[];
  readonly ended: EndedCounts;
  /** Webhooks that this unit locked. 0: another process holds all of them. */
  readonly seen: number;
}

/** Leases the webhooks that have a delivery due and begins the first one of each, in the caller's unit of work. */
export async function claimAttempts(tx: Tx, rules: ClaimRules): Promise<Claimed> {
  const hooks = await leases.holdClaimable(tx, rules.now, rules.ids);
  const order = (hook: leases.HeldWebhook): number => rules.ids.indexOf(hook.id);
  const attempts: DeliveryAttempt[] = [];
  let ended = NONE_ENDED;
  for (const hook of hooks.toSorted((a, b) => order(a) - order(b))) {
    const begun = await beginAttempt(tx, hook, rules.claim, rules, {});
    ended = {
      failed: ended.failed + begun.ended.failed,
      dropped: ended.dropped + begun.ended.dropped,
    };
    if (begun.attempt !== null) attempts.push(begun.attempt);
  }
  return { attempts, ended, seen: hooks.length };
}

export interface Begun {
  /** Null: nothing may be attempted now, and the lease has ended. */
  readonly attempt: DeliveryAttempt | null;
  readonly ended: EndedCounts;
}

export type WebhookState = Pick<leases.HeldWebhook, 'failure_count' | 'rests_until' | 'last_attempt_ms'>;

export function stateAfter(hook: leases.HeldWebhook, changed: Partial<WebhookState>): WebhookState {
  const { failure_count, rests_until, last_attempt_ms } = hook;
  return { failure_count, rests_until, last_attempt_ms, ...changed };
}

/** Begins the first due delivery that may be attempted and writes the lease. Without one, it ends the lease. */
export async function beginAttempt(
  tx: Tx,
  hook: leases.HeldWebhook,
  claim: string,
  rules: AttemptRules,
  changed: Partial<WebhookState>,
): Promise<Begun> {
  const { now, leaseMs } = rules;
  const state = stateAfter(hook, changed);
  const attempt_minutes = TIERS[hook.tier].webhooks === 0 ? null : countAttempt(hook.attempt_minutes, now);
  const { delivery, ended, nextDueAt } = await firstToAttempt(tx, hook, rules, attempt_minutes !== null);
  if (delivery === null || attempt_minutes === null) {
    await leases.endLease(tx, { id: hook.id, now, next_due_at: nextDueAt, ...state });
    return { attempt: null, ended };
  }
  await leases.saveLease(tx, {
    id: hook.id,
    claim,
    claimed_delivery: delivery.id,
    claimed_until: now + leaseMs,
    now,
    next_due_at: delivery.next_attempt_at,
    ...state,
    attempt_minutes,
  });
  return { attempt: attemptOf(hook, claim, delivery), ended };
}

export function attemptOf(
  hook: leases.HeldWebhook,
  claim: string,
  delivery: rows.BegunDelivery,
): DeliveryAttempt {
  return {
    claim,
    webhookId: hook.id,
    customerId: hook.customer_id,
    url: hook.url,
    encryptedSecret: hook.signing_secret,
    deliveryId: delivery.id,
    event: delivery.event,
    body: delivery.body,
    attempt: delivery.attempts,
    createdAt: delivery.created_at,
  };
}

type FirstDelivery =
  | { readonly delivery: rows.BegunDelivery; readonly ended: EndedCounts; readonly nextDueAt: null }
  | { readonly delivery: null; readonly ended: EndedCounts; readonly nextDueAt: number | null };

/** Ends due deliveries that may not be attempted. Stops at the first that may, and counts its attempt. */
async function firstToAttempt(
  tx: Tx,
  hook: leases.HeldWebhook,
  { now, schedule }: AttemptRules,
  mayAttempt: boolean,
): Promise<FirstDelivery> {
  const webhookId = hook.id;
  let failed = 0;
  let dropped = 0;
  for (;;) {
    const delivery = mayAttempt
      ? await rows.beginFirst(tx, { webhookId, now, attemptsMax: schedule.length })
      : null;
    if (delivery !== null) return { delivery, ended: { failed, dropped }, nextDueAt: null };
    const first = await rows.firstWaiting(tx, webhookId);
    if (first === null || first.next_attempt_at > now) {
      return { delivery: null, ended: { failed, dropped }, nextDueAt: first?.next_attempt_at ?? null };
    }
    if (TIERS[hook.tier].webhooks === 0) {
      const end = { status: 'failed', error: 'webhook_disabled' } as const;
      failed += await rows.endDeliveries(tx, webhookId, end, now);
    } else if (first.attempts >= schedule.length || !first.has_body) {
      // The process that made the last attempt ended before it wrote the result, so the result is unknown.
      await rows.endDelivery(tx, first.id, { status: 'failed', error: 'timeout' });
      failed++;
    } else if (!mayAttempt) {
      const end = { status: 'dropped', error: 'rate_limited' } as const;
      dropped += await rows.endDeliveries(tx, webhookId, end, now);
    }
    // PostgreSQL lets others enqueue between these two reads; the next iteration sees those deliveries.
  }
}
