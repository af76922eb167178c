import { setImmediate as turn } from 'node:timers/promises';

/** Production waits and measures spans of time only through this port, so tests can move time (`test/support/base/lifecycle/manual-timers.ts`). */
export interface Timers {
  /** Calls `run` once. @returns a function that cancels the call; it has no effect after the call */
  after(ms: number, run: () => void): () => void;
  /** Milliseconds from any beginning. It never steps back, as the wall clock (`Clock`) may. */
  readonly elapsed: () => number;
}

/** The one reading of the monotonic clock. */
const elapsed = (): number => performance.now();

/** Timers that keep the process alive until they fire. */
export const realTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  elapsed,
};

/** Timers that do not keep the process alive. */
export const backgroundTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  elapsed,
};

/** Lets the event loop turn once: what is due meanwhile runs. It takes no time of any clock, so the simulation has no other one. */
export function nextTurn(): Promise<void> {
  return turn();
}

/** Resolves after `ms` milliseconds. */
export function pause(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(ms, resolve);
  });
}

const SECOND_MS = 1000;
/** Milliseconds by which a timer may fire early or a loop be late: without them a loop that wakes just before a second would pass twice. */
const SLACK_MS = 50;

/**
 * Background timers of tasks that repeat. A wait of a second or more ends on the nearest whole second, so that tasks of an idle process share
 * their wake-ups.
 */
export const wholeSecondTimers: Timers = {
  after: (ms, run) => backgroundTimers.after(toWholeSecond(ms, elapsed()), run),
  elapsed,
};

/**
 * Timers of loops that look for work. A wait of a second or more ends on the last whole second within it, at most `SLACK_MS` late: a loop
 * that finds nothing due waits for the rest.
 */
export const loopTimers: Timers = {
  after: (ms, run) => realTimers.after(withinWholeSecond(ms, elapsed()), run),
  elapsed,
};

/** Milliseconds of a wait of about `ms` that ends on a whole second. A wait of less than a second stays as it is. @param now milliseconds */
export function toWholeSecond(ms: number, now: number): number {
  if (ms < SECOND_MS) return ms;
  return Math.round((now + ms) / SECOND_MS) * SECOND_MS - now;
}

/** Milliseconds of a wait of at most `ms` and `SLACK_MS` that ends on a whole second. A wait of less than a second stays as it is. @param now milliseconds */
export function withinWholeSecond(ms: number, now: number): number {
  if (ms < SECOND_MS) return ms;
  return Math.floor((now + ms + SLACK_MS) / SECOND_MS) * SECOND_MS - now;
}
