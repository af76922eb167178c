/** When a source that fails is left alone. Times are milliseconds since the epoch. */
export interface Breaker {
  /** Failures since the last success. */
  readonly failures: number;
  /** No call before; one alone tries after. */
  readonly openUntil: number;
  /** How long it stays open next time. */
  readonly pauseMs: number;
}

/** So many failures in a row open it. */
const FAILURES_MAX = 5;
const PAUSE_FIRST_MS = 15_000;
const PAUSE_MAX_MS = 300_000;

export const CLOSED: Breaker = { failures: 0, openUntil: 0, pauseMs: PAUSE_FIRST_MS };

/** Whether a call may be made. After a pause one call probes while the rest still wait: `probing` says that it is out. */
export function mayCall(breaker: Breaker, probing: boolean, now: number): boolean {
  if (breaker.failures < FAILURES_MAX) return true;
  return now >= breaker.openUntil && !probing;
}

/** A source that answered, whatever it said, is up. */
export function succeeded(): Breaker {
  return CLOSED;
}

/** Each failure of a probe doubles the pause, up to five minutes; one of a call that was out already does not. */
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
