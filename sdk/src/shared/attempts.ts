import { wait } from './wait.ts';

/** An attempt has at least this many milliseconds, so that many repetitions do not leave each too little. */
const ATTEMPT_MIN_MS = 500;
/** `setTimeout` takes a longer time as 1 ms. */
const TIMER_MAX_MS = 2_147_483_647;

/** The end of an attempt: the caller's signal or the time, whichever is first. */
export interface Deadline {
  /** Its reason is that of the caller's signal, or the error of `late`. */
  readonly signal: AbortSignal;
  /** Milliseconds that it began with. */
  readonly milliseconds: number;
  /** From now on all of the time that is left for the call is its own: the other side has begun to answer. */
  lengthen(): void;
  /** From now on the caller's signal alone ends it. */
  stopClock(): void;
}

/**
 * @param late makes the reason with which the time ends it
 * @param most milliseconds from now that it has once it is lengthened
 */
export function startDeadline(
  milliseconds: number,
  late: () => Error,
  signal: AbortSignal | undefined,
  most: number = milliseconds,
): Deadline {
  const ending = new AbortController();
  const endsAt = performance.now() + most;
  const startClock = (ms: number) => setTimeout(() => ending.abort(late()), Math.min(ms, TIMER_MAX_MS));
  let timer = startClock(milliseconds);
  const stopClock = (): void => clearTimeout(timer);
  return {
    // No listener on the caller's signal: that of a body which nobody reads to its end would stay as long as the signal does.
    signal: signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal]),
    milliseconds,
    lengthen() {
      stopClock();
      timer = startClock(endsAt - performance.now());
    },
    stopClock,
  };
}

export interface AttemptsOptions {
  /** Milliseconds for all attempts and the waits between them. */
  readonly timeout: number;
  /** Most repetitions. */
  readonly retries: number;
  /** Milliseconds of an attempt in which the other side may wait before it answers. Default 0. */
  readonly patience?: number | undefined;
  /** False: an attempt that may have had its effect is not repeated, so the first has all of the time. Default true. */
  readonly isRepeatable?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The error of an attempt whose time is over. */
  readonly late: () => Error;
  /** Milliseconds before the next attempt; null: the error is final. @param failures so far, from 1 */
  readonly pauseAfter: (error: unknown, failures: number) => number | null;
}

/**
 * Runs attempts until one succeeds. Each has its share of the time, so that one whose answer was lost leaves time for the others; the last, and
 * one that lengthens its deadline, has what is left.
 * @param attempt must stop the clock of the deadline when it needs it no more
 * @throws the error of the last attempt; the reason of the signal when it aborts
 */
export async function runAttempts<T>(
  options: AttemptsOptions,
  attempt: (deadline: Deadline, failures: number) => Promise<T>,
): Promise<T> {
  const { timeout, retries, patience = 0, isRepeatable = true, signal, late, pauseAfter } = options;
  signal?.throwIfAborted();
  // Nobody sets this clock.
  const endsAt = performance.now() + timeout;
  const share = patience + Math.max(ATTEMPT_MIN_MS, (timeout - patience) / (retries + 1));
  for (let failures = 0; ; ) {
    const left = endsAt - performance.now();
    const isLast = failures >= retries || !isRepeatable;
    const deadline = startDeadline(isLast ? left : Math.min(left, share), late, signal, left);
    try {
      return await attempt(deadline, failures);
    } catch (error) {
      deadline.stopClock();
      signal?.throwIfAborted();
      failures += 1;
      const pause = failures > retries ? null : pauseAfter(error, failures);
      // The error says more than a timeout that is certain to follow.
      if (pause === null || pause >= endsAt - performance.now()) throw error;
      await wait(pause, signal);
    }
  }
}
