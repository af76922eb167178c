/** Circuit breaker of one source. Times are milliseconds since the epoch. */
export interface Breaker {
  /** Failures since the last success. */
  readonly failures: number;
  /** No call before this time; after it one probe. */
  readonly openUntil: number;
  /** How long it stays open the next time, milliseconds. */
  readonly pauseMs: number;
}

/** Failures in a row that open it. */
const FAILURES_MAX = 5;
const PAUSE_FIRST_MS = 15_000;
const PAUSE_MAX_MS = 300_000;

export const CLOSED: Breaker = { failures: 0, openUntil: 0, pauseMs: PAUSE_FIRST_MS };

/** Whether a call may be made. @param probing whether the one probe after a pause is under way */
export function mayCall(breaker: Breaker, probing: boolean, now: number): boolean {
  if (breaker.failures < FAILURES_MAX) return true;
  return now >= breaker.openUntil && !probing;
}

/** Any answer closes the breaker. */
export function succeeded(): Breaker {
  return CLOSED;
}

/** A failed probe doubles the pause, up to five minutes. A call that began before the breaker opened changes nothing. */
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
