import { backoffMs } from '../../base/lifecycle/loop.ts';
import { LIMITS, TIERS } from '../../base/limits.ts';
import type { DeliveryError, DeliveryEvent, DeliveryStatus } from '../../protocol/webhooks.ts';
import type { Tx } from '../../store/store.ts';
import * as rows from '../../store/webhooks/dispatch.ts';
import * as leases from '../../store/webhooks/dispatch.ts';
import { audited, auditFor, BY_SYSTEM } from '../audit/actions.ts';
import { afterAttempt } from './health.ts';
import { countAttempt } from './hourly-attempts.ts';
import type { AttemptResult } from './send-attempt.ts';

/** Each delay is multiplied by 0.8 to 1.2, so that deliveries that failed together are not retried together. */
const JITTER_MIN = 0.8;
const JITTER_SPAN = 0.4;

const WEBHOOK_BACKOFF = { firstMs: 1000, capMs: LIMITS.webhookRestMaxMs };

/**
 * @param failed number of the attempt that failed, from 1
 * @param schedule seconds before each attempt; its length is the number of attempts
 * @param retryAfter seconds that the endpoint asked for, or null. Applied between one and two times the delay
 * @returns milliseconds until the next attempt, or null: there is none
 */
export function retryDelayMs(
  failed: number,
  schedule: readonly number[],
  random: number,
  retryAfter: number | null,
): number | null {
  const seconds = schedule[failed];
  if (seconds === undefined) return null;
  const delay = Math.round(seconds * 1000 * (JITTER_MIN + JITTER_SPAN * random));
  return Math.min(2 * delay, Math.max(delay, (retryAfter ?? 0) * 1000));
}

/** Milliseconds without attempts after `failures` (from 1) in a row: 1 s, doubling up to `LIMITS.webhookRestMaxMs`. */
export function webhookBackoffMs(failures: number): number {
  return backoffMs(failures, WEBHOOK_BACKOFF);
}

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

interface AttemptRules {
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

const NONE_ENDED: EndedCounts = { failed: 0, dropped: 0 };

export interface ClaimRules extends AttemptRules {
  /** The new leases' id; must be unique, because it fences writers that lost a lease. */
  readonly claim: string;
  readonly ids: readonly string[];
}

interface Claimed {
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

interface Begun {
  /** Null: nothing may be attempted now, and the lease has ended. */
  readonly attempt: DeliveryAttempt | null;
  readonly ended: EndedCounts;
}

type WebhookState = Pick<leases.HeldWebhook, 'failure_count' | 'rests_until' | 'last_attempt_ms' | 'health'>;

function stateAfter(hook: leases.HeldWebhook, changed: Partial<WebhookState>): WebhookState {
  const { failure_count, rests_until, last_attempt_ms, health } = hook;
  return { failure_count, rests_until, last_attempt_ms, health, ...changed };
}

/** Begins the first due delivery that may be attempted and writes the lease. Without one, it ends the lease. */
async function beginAttempt(
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

function attemptOf(hook: leases.HeldWebhook, claim: string, delivery: rows.BegunDelivery): DeliveryAttempt {
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
      failed += await rows.endUnsent(tx, webhookId, end, now);
    } else if (first.attempts >= schedule.length || !first.has_body) {
      // The process that made the last attempt ended before it wrote the result, so the result is unknown.
      await rows.endDelivery(tx, first.id, { status: 'failed', error: 'timeout' });
      failed++;
    } else if (!mayAttempt) {
      const end = { status: 'dropped', error: 'rate_limited' } as const;
      dropped += await rows.endUnsent(tx, webhookId, end, now);
    }
    // PostgreSQL lets others enqueue between these two reads; the next iteration sees those deliveries.
  }
}

/** What one attempt changes in its delivery and in its webhook. Times are milliseconds since the epoch. */
interface RetryDecision {
  readonly delivery: {
    readonly status: Exclude<DeliveryStatus, 'dropped'>;
    readonly error: DeliveryError | null;
    readonly responseCode: number | null;
    readonly durationMs: number;
    readonly nextAttemptAt: number | null;
  };
  readonly failures: number;
  /** Earliest next attempt of any delivery of the webhook. */
  readonly restsUntil: number;
  /** True after too many failures: nothing is sent until the owner enables the webhook again. */
  readonly isDisabled: boolean;
}

interface RetryInput {
  readonly attempt: number;
  /** Failed attempts of the webhook in a row before this one. */
  readonly failuresBefore: number;
  readonly schedule: readonly number[];
  readonly random: number;
  readonly now: number;
}

/** A 2xx resets the webhook's failures; anything else is a failure of both delivery and webhook. */
export function decideRetry(result: AttemptResult, input: RetryInput): RetryDecision {
  const { attempt, failuresBefore, schedule, random, now } = input;
  const { error, responseCode, durationMs, retryAfter } = result;
  const recorded = { error, responseCode, durationMs };
  if (error === null) {
    return {
      delivery: { ...recorded, status: 'succeeded', nextAttemptAt: null },
      failures: 0,
      restsUntil: 0,
      isDisabled: false,
    };
  }
  const failures = failuresBefore + 1;
  const isDisabled = failures >= LIMITS.webhookFailures;
  const delay = isDisabled ? null : retryDelayMs(attempt, schedule, random, retryAfter);
  return {
    delivery: {
      ...recorded,
      status: delay === null ? 'failed' : 'pending',
      nextAttemptAt: delay === null ? null : now + delay,
    },
    failures,
    restsUntil: now + webhookBackoffMs(failures),
    isDisabled,
  };
}

interface SettleRules extends AttemptRules {
  readonly random: number;
  /** True: begin the webhook's next delivery at once. False: end the lease. */
  readonly goOn: boolean;
}

export interface Settled {
  /** New status of the delivery; null when it had ended before, so nothing was written. */
  readonly status: DeliveryStatus | null;
  readonly isDisabled: boolean;
  readonly ended: EndedCounts;
  /** The webhook's next delivery, under the renewed lease. Null: the lease has ended. */
  readonly next: DeliveryAttempt | null;
}

/**
 * Writes the result of an attempt and begins the webhook's next delivery or ends the lease, in the caller's unit of work.
 * Safe to run again after a commit of unknown outcome: the repeat changes nothing and returns the same next attempt.
 * @returns null, with nothing written, when the webhook was disabled, deleted or leased to another process
 */
export async function settleAttempt(
  tx: Tx,
  attempt: DeliveryAttempt,
  result: AttemptResult,
  rules: SettleRules,
): Promise<Settled | null> {
  const { webhookId, claim, deliveryId } = attempt;
  const hook = await leases.holdClaimed(tx, webhookId, claim);
  if (hook === null) return null;
  // The first run has begun the next delivery under the same lease.
  if (hook.claimed_delivery !== null && hook.claimed_delivery !== deliveryId) {
    const begun = await rows.begunDelivery(tx, hook.claimed_delivery);
    if (begun !== null) {
      const next = attemptOf(hook, claim, begun);
      return { status: null, isDisabled: false, ended: NONE_ENDED, next };
    }
  }
  // An attempt at a URL that was changed meanwhile says nothing of the new one: it counts for its delivery alone.
  const isMoved = hook.url !== attempt.url;
  const decision = decideRetry(result, {
    ...rules,
    attempt: attempt.attempt,
    failuresBefore: isMoved ? 0 : hook.failure_count,
  });
  const { status, error, responseCode, durationMs, nextAttemptAt } = decision.delivery;
  const wasWaiting = await rows.recordResult(tx, deliveryId, attempt.attempt, {
    status,
    error,
    response_code: responseCode,
    duration_ms: durationMs,
    next_attempt_at: nextAttemptAt,
  });
  if (!wasWaiting) {
    // The delivery ended for another reason during the attempt, so the result does not count for the webhook.
    const begun = await beginNextOrRelease(tx, hook, claim, rules, {}, rules.goOn);
    return { status: null, isDisabled: false, ended: begun.ended, next: begun.attempt };
  }
  const state = isMoved
    ? stateAfter(hook, {})
    : {
        failure_count: decision.failures,
        rests_until: decision.restsUntil,
        last_attempt_ms: durationMs,
        health: afterAttempt(hook.health, result, rules.now),
      };
  if (decision.isDisabled) {
    const failed = await disable(tx, hook, state, rules.now);
    return { status, isDisabled: true, ended: { failed, dropped: 0 }, next: null };
  }
  const goOn = rules.goOn && state.rests_until <= rules.now;
  const begun = await beginNextOrRelease(tx, hook, claim, rules, state, goOn);
  return { status, isDisabled: false, ended: begun.ended, next: begun.attempt };
}

/** Undoes the count of an attempt that was not made, and ends the lease. @param restsUntil earliest next attempt; null: now */
export async function cancelAttempt(
  tx: Tx,
  attempt: DeliveryAttempt,
  now: number,
  restsUntil: number | null,
): Promise<void> {
  const hook = await leases.holdClaimed(tx, attempt.webhookId, attempt.claim);
  if (hook === null) return;
  await rows.takeBackAttempt(tx, attempt.deliveryId, attempt.attempt);
  await releaseLease(tx, hook, now, restsUntil === null ? {} : { rests_until: restsUntil });
}

/** Undoes a claim of which nobody knows whether it was committed: no attempt was made of what it began. */
export async function giveBackClaim(
  tx: Tx,
  claim: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  // In the order in which the fan-out holds them.
  for (const id of ids.toSorted()) {
    const hook = await leases.holdClaimed(tx, id, claim);
    if (hook === null) continue;
    const begun = hook.claimed_delivery && (await rows.begunDelivery(tx, hook.claimed_delivery));
    if (begun) await rows.takeBackAttempt(tx, begun.id, begun.attempts);
    await releaseLease(tx, hook, now, {});
  }
}

async function beginNextOrRelease(
  tx: Tx,
  hook: leases.HeldWebhook,
  claim: string,
  rules: AttemptRules,
  changed: Partial<WebhookState>,
  goOn: boolean,
): Promise<Begun> {
  if (goOn) return beginAttempt(tx, hook, claim, rules, changed);
  await releaseLease(tx, hook, rules.now, changed);
  return { attempt: null, ended: NONE_ENDED };
}

/** Reads the next due time under the row lock. A delivery that is enqueued later moves it. */
async function releaseLease(
  tx: Tx,
  hook: leases.HeldWebhook,
  now: number,
  changed: Partial<WebhookState>,
): Promise<void> {
  const first = await rows.firstWaiting(tx, hook.id);
  const next_due_at = first?.next_attempt_at ?? null;
  await leases.endLease(tx, { id: hook.id, now, next_due_at, ...stateAfter(hook, changed) });
}

async function disable(tx: Tx, hook: leases.HeldWebhook, state: WebhookState, now: number): Promise<number> {
  const end = { status: 'failed', error: 'webhook_disabled' } as const;
  const failed = await rows.endUnsent(tx, hook.id, end, null);
  const disabled = await leases.disableWebhook(tx, hook.id, state, now);
  if (disabled !== null) {
    await auditFor(tx, hook.customer_id, BY_SYSTEM, now, 'webhook.changed', audited.webhook(disabled));
  }
  return failed;
}
