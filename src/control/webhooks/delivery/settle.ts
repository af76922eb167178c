import { LIMITS } from '../../../base/limits.ts';
import type { DeliveryError, DeliveryStatus } from '../../../protocol/webhooks.ts';
import type { Tx } from '../../../store/store.ts';
import * as rows from '../../../store/webhooks/dispatch.ts';
import * as leases from '../../../store/webhooks/leases.ts';
import type { AttemptResult } from '../ports.ts';
import {
  type AttemptRules,
  attemptOf,
  type Begun,
  beginAttempt,
  type DeliveryAttempt,
  type EndedCounts,
  NONE_ENDED,
  stateAfter,
  type WebhookState,
} from './delivery-attempt.ts';
import { retryDelayMs, webhookBackoffMs } from './retry-delays.ts';

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

export interface SettleRules extends AttemptRules {
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
  const decision = decideRetry(result, {
    ...rules,
    attempt: attempt.attempt,
    failuresBefore: hook.failure_count,
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
  if (decision.isDisabled) {
    const failed = await disable(tx, hook.id, decision.failures, rules.now);
    return { status, isDisabled: true, ended: { failed, dropped: 0 }, next: null };
  }
  const changed = {
    failure_count: decision.failures,
    rests_until: decision.restsUntil,
    last_attempt_ms: durationMs,
  };
  const goOn = rules.goOn && decision.restsUntil <= rules.now;
  const begun = await beginNextOrRelease(tx, hook, claim, rules, changed, goOn);
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

async function disable(tx: Tx, id: string, failures: number, now: number): Promise<number> {
  const end = { status: 'failed', error: 'webhook_disabled' } as const;
  const failed = await rows.endDeliveries(tx, id, end, null);
  await leases.disableWebhook(tx, id, failures, now);
  return failed;
}
