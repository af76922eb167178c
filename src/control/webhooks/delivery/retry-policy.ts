import { LIMITS } from '../../../core/limits.ts';
import type { DeliveryError, DeliveryStatus } from '../../../core/webhooks.ts';
import type { AttemptResult } from '../ports.ts';
import { retryDelayMs, webhookBackoffMs } from './retry-delays.ts';

/** What one attempt changes in its delivery and in its webhook. Times are milliseconds since the epoch. */
export interface RetryDecision {
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

export interface RetryInput {
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
