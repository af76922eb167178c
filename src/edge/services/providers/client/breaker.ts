/** Circuit breaker of one source. Times in milliseconds since the epoch. */
export interface Breaker {
  /** Failures since the last success. */
  readonly failures: number;
  /** No call before this time; then one probe. */
  readonly openUntil: number;
  /** Length of the next pause, milliseconds. */
  readonly pauseMs: number;
}

/** Consecutive failures that open the breaker. */
const FAILURES_MAX = 5;
const PAUSE_FIRST_MS = 15_000;
const PAUSE_MAX_MS = 300_000;

export const CLOSED: Breaker = { failures: 0, openUntil: 0, pauseMs: PAUSE_FIRST_MS };

/** `probing`: a probe is in progress. */
export function mayCall(breaker: Breaker, probing: boolean, now: number): boolean {
  if (breaker.failures < FAILURES_MAX) return true;
  return now >= breaker.openUntil && !probing;
}

export function succeeded(): Breaker {
  return CLOSED;
}

/** A failed probe doubles the pause, up to five minutes. Calls that started before the breaker opened do not count. */
export function failedAt(breaker: Breaker, now: number): Breaker {
  if (now < breaker.openUntil) return breaker;
  const failures = breaker.failures + 1;
  if (failures < FAILURES_MAX) return { ...breaker, failures };
  return {
    failures,
    openUntil: now + breaker.pauseMs,
    pauseMs: Math.min(PAUSE_MAX_MS, breaker.pauseMs * 2),
  };
}
