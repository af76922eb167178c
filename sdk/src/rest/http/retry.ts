import { backoffMs } from '../../shared/wait.ts';
import { ApiError, ConnectionError } from './errors.ts';

/** Statuses after which the same request may succeed. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/**
 * Whether a failed attempt may be repeated.
 * @param isRepeatable the request has the same effect twice as once: a read, a DELETE, a POST with an Idempotency-Key.
 * Others are repeated only after 429, which the server answers before it does anything
 */
export function mayRetry(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof ApiError) return error.status === 429 || (isRepeatable && TRANSIENT.has(error.status));
  return isRepeatable && error instanceof ConnectionError;
}

/** Milliseconds before the next attempt: what the server asks for, else backoff. @param failures so far, from 1 */
export function retryWaitMs(error: unknown, failures: number, random: () => number = Math.random): number {
  if (error instanceof ApiError && error.retryAfter !== null) return error.retryAfter * 1000;
  return backoffMs(failures, random);
}
