import { LIMITS } from '../../../core/limits.ts';

/** Each delay is multiplied by 0.8 to 1.2, so that what failed together does not come back together. */
const JITTER_MIN = 0.8;
const JITTER_SPAN = 0.4;

/**
 * How long a delivery waits after a failed attempt.
 *
 * @param failed which attempt it was, from 1
 * @param schedule seconds before each attempt; as many attempts as numbers
 * @param random 0 up to 1
 * @param retryAfter seconds that the endpoint asked for, or null. Honoured as far as it lies between the delay and twice it
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
 * How long a webhook is left alone after its nth failed attempt in a row: one second, then twice as long each time, up to
 * `LIMITS.webhookRestMaxMs`.
 *
 * @param failures at least 1
 * @returns milliseconds
 */
export function restMs(failures: number): number {
  return Math.min(LIMITS.webhookRestMaxMs, 1000 * 2 ** (failures - 1));
}
