import { LIMITS } from '../../../core/limits.ts';
import { backoffMs } from '../../../lifecycle/backoff.ts';

/** Each delay is multiplied by 0.8 to 1.2, so that deliveries that failed together are not retried together. */
const JITTER_MIN = 0.8;
const JITTER_SPAN = 0.4;

const WEBHOOK_BACKOFF = { firstMs: 1000, capMs: LIMITS.webhookRestMaxMs };

/**
 * How long a delivery waits after a failed attempt.
 *
 * @param failed number of the attempt that failed, from 1
 * @param schedule seconds before each attempt; as many attempts as numbers
 * @param random 0 up to 1
 * @param retryAfter seconds that the endpoint asked for, or null. Honoured between the delay and twice the delay
 * @returns milliseconds, or null: there is no further attempt
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

/**
 * How long nothing is sent to a webhook after its nth failed attempt in a row: 1 s, doubling up to
 * `LIMITS.webhookRestMaxMs`.
 *
 * @param failures at least 1
 * @returns milliseconds
 */
export function webhookBackoffMs(failures: number): number {
  return backoffMs(failures, WEBHOOK_BACKOFF);
}
