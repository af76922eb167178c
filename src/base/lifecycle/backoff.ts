export interface Backoff {
  /** Milliseconds before the first retry; each further one waits twice as long. */
  readonly firstMs: number;
  /** The longest delay, milliseconds. */
  readonly capMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 100, capMs: 10_000 };

/** Keeps the power of two finite. */
const EXPONENT_MAX = 30;

/** The delay before a retry, milliseconds. @param failures in a row, at least 1 */
export function backoffMs(failures: number, { firstMs, capMs }: Backoff = DEFAULT_BACKOFF): number {
  return Math.min(capMs, firstMs * 2 ** Math.min(failures - 1, EXPONENT_MAX));
}
