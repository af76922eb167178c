import { backoffMs } from '../../../base/lifecycle/backoff.ts';
import { LIMITS } from '../../../base/limits.ts';

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
