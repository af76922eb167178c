import { loopTimers, nextTurn, type Timers, wholeSecondTimers } from './timers.ts';

interface LoopOptions {
  readonly signal: AbortSignal;
  readonly waker: Waker;
  /**
   * A wake-up during a pass starts the next one at once. @returns milliseconds until the next pass without a wake-up
   */
  readonly pass: () => Promise<number>;
  readonly backoff?: Backoff;
  /** Must not throw. Not called after the signal is aborted. @param failures in a row, from 1 */
  readonly onError: (error: unknown, failures: number) => void;
}

/**
 * Runs passes until the signal is aborted. After a failure it retries with exponential backoff, without a limit. A wake-up
 * shortens the backoff to its first delay. Resolves when it has ended; never rejects.
 */
export async function loop(options: LoopOptions): Promise<void> {
  const { signal, waker, pass, onError, backoff = DEFAULT_BACKOFF } = options;
  let failures = 0;
  while (!signal.aborted) {
    waker.reset();
    try {
      const nextMs = await pass();
      failures = 0;
      await waker.wait(nextMs);
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      onError(error, failures);
      // The first delay holds against any number of wake-ups, so that a dead dependency makes no busy loop.
      await waker.sleep(backoff.firstMs);
      await waker.wait(backoffMs(failures, backoff) - backoff.firstMs);
    }
  }
}

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

interface EveryOptions {
  /**
   * Milliseconds from the end of one run to the start of the next. A function is asked after each run. From a second on they may be half a second
   * more or less (`wholeSecondTimers`).
   */
  readonly ms: number | (() => number);
  readonly task: () => void | Promise<void>;
  /** Must not throw. After an error the task runs again at its next time. */
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers | undefined;
}

export interface Repeating {
  /** Starts no further run. Resolves when a run under way has ended. */
  stop(): Promise<void>;
}

/** Runs a task at an interval, never twice at once. It does not keep the process alive. The first run is after `ms`. */
export function every({ ms, task, onError, timers = wholeSecondTimers }: EveryOptions): Repeating {
  let isStopped = false;
  let cancel = (): void => {};
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!isStopped) onError(error);
    }
    if (!isStopped) schedule();
  }

  function schedule(): void {
    cancel = timers.after(typeof ms === 'number' ? ms : ms(), () => {
      running = run();
    });
  }

  schedule();
  return {
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}

/** Lets one loop sleep until it is woken. Several wake-ups during a pass count as one. */
export interface Waker {
  wake(): void;
  /** Forgets earlier wake-ups. Call it before the work: a call after it would lose wake-ups that came meanwhile. */
  reset(): void;
  woken(): boolean;
  /** Resolves at the next wake-up (true), at once when there was one since `reset`, or after `ms` (false). */
  wait(ms: number): Promise<boolean>;
  /** Resolves after `ms` milliseconds, as `timers` count them. Wake-ups do not end it; the signal does. Several may sleep at once. */
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * @param signal ends the present wait and every later one at once
 * @param timers without them a pause of a second or more may end up to a second early, on a whole second (`loopTimers`)
 */
export function createWaker(signal: AbortSignal, timers: Timers = loopTimers): Waker {
  let isWoken = false;
  let endWait = (): void => {};

  /** @param onBegin is given what ends it early */
  function pause(ms: number, onBegin: (end: () => void) => void): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = timers.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
      onBegin(end);
    });
  }

  return {
    wake() {
      isWoken = true;
      endWait();
    },
    reset() {
      isWoken = false;
    },
    woken: () => isWoken,
    async wait(ms) {
      if (!isWoken) {
        await pause(ms, (end) => {
          endWait = end;
        });
        endWait = () => {};
      }
      return isWoken;
    },
    sleep: (ms) => pause(ms, () => {}),
  };
}

/** Works off a queue, one step at a time. */
interface Drain {
  /** Call it after work was added. Steps begin with the next tick of the event loop, unless they are under way. */
  start(): void;
  /** Resolves when there is no work left. Rejects when the step under way does. */
  idle(): Promise<void>;
}

/**
 * Runs steps while there is work, with a tick of the event loop before each, so that work which is added in one tick is seen by
 * one step and other callbacks run in between.
 * @param step takes work from the queue. When it rejects, the steps end; the next `start` begins again
 */
export function createDrain(hasWork: () => boolean, step: () => Promise<void>): Drain {
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    try {
      await nextTurn();
      while (hasWork()) {
        await step();
        await nextTurn();
      }
    } finally {
      running = null;
    }
  }

  return {
    start() {
      running ??= run();
    },
    async idle() {
      while (running !== null) await running;
    },
  };
}
