import { LIMITS } from '../../../core/limits.ts';
import type { DeliveryError, DeliveryStatus } from '../../../core/webhooks.ts';
import type { AttemptResult } from '../ports.ts';
import { restMs, retryDelayMs } from './retry-delays.ts';

/** What one attempt makes of its delivery and of its webhook. Times are milliseconds since the epoch. */
export interface Verdict {
  readonly delivery: {
    readonly status: Exclude<DeliveryStatus, 'dropped'>;
    readonly error: DeliveryError | null;
    readonly responseCode: number | null;
    readonly durationMs: number;
    /** Null unless it is still pending. */
    readonly nextAttemptAt: number | null;
  };
  /** Failed attempts in a row. */
  readonly failures: number;
  readonly restsUntil: number;
  /** It failed too often: nothing more is sent to it until its owner enables it again. */
  readonly isDisabled: boolean;
}

export interface VerdictInput {
  /** Which attempt of the delivery it was, from 1. */
  readonly attempt: number;
  /** Failed attempts of the webhook in a row before this one. */
  readonly failuresBefore: number;
  readonly schedule: readonly number[];
  /** 0 up to 1. */
  readonly random: number;
  readonly now: number;
}

/** Judges one attempt (decisions, section 4): a 2xx ends everything well, all else is a failure of delivery and webhook. */
export function judge(result: AttemptResult, input: VerdictInput): Verdict {
  const { attempt, failuresBefore, schedule, random, now } = input;
  const { error, responseCode, durationMs, retryAfter } = result;
  const told = { error, responseCode, durationMs };
  if (error === null) {
    return {
      delivery: { ...told, status: 'succeeded', nextAttemptAt: null },
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
      ...told,
      status: delay === null ? 'failed' : 'pending',
      nextAttemptAt: delay === null ? null : now + delay,
    },
    failures,
    restsUntil: now + restMs(failures),
    isDisabled,
  };
}
