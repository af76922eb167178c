/** When a failed read is repeated. */
import { ApiError, ConnectionError, TimeoutError } from '../../../sdk/src/uqrp-sdk.ts';

export interface RetryPlan {
  /** Milliseconds; null: not by itself. */
  readonly waitMs: number | null;
  /** Whether there was an answer. */
  readonly arrived: boolean;
}

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

/** Milliseconds. @param failures in a row, from 1 */
export function backoffOf(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
}

/** @param failures in a row, from 1 */
export function retryAt(error: unknown, failures: number): RetryPlan {
  const backoff = backoffOf(failures);
  if (error instanceof ApiError) {
    if (error.status === 429) return { waitMs: (error.retryAfter ?? 1) * 1000, arrived: true };
    return { waitMs: error.status >= 500 ? backoff : null, arrived: true };
  }
  if (error instanceof ConnectionError || error instanceof TimeoutError)
    return { waitMs: backoff, arrived: false };
  return { waitMs: null, arrived: true };
}
