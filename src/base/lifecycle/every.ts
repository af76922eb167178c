import { type Timers, wholeSecondTimers } from './timers.ts';

export interface EveryOptions {
  /**
   * Milliseconds from the end of one run to the start of the next. A function is asked after each run. From a second on they may be half a second
   * more or less (`wholeSecondTimers`).
   */
  readonly ms: number | (() => number);
  readonly task: () => void | Promise<void>;
  /** Must not throw. After an error the task runs again at its next time. */
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers;
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
