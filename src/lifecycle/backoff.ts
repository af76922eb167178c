export interface Backoff {
  /** Milliseconds before the first retry; each further one waits twice as long. */
  readonly firstMs: number;
  /** The longest delay, milliseconds. */
  readonly capMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 100, capMs: 10_000 };

/** Beyond it the power of two exceeds every cap; it keeps the number finite. */
const EXPONENT_MAX = 30;

/**
 * The delay before a retry: exponential, with a cap.
 *
 * @param failures in a row, at least 1
 * @returns milliseconds
 */
export function backoffMs(failures: number, { firstMs, capMs }: Backoff = DEFAULT_BACKOFF): number {
  return Math.min(capMs, firstMs * 2 ** Math.min(failures - 1, EXPONENT_MAX));
}
