/** Production waits only through this port, so tests can move time (`test/support/lifecycle/manual-timers.ts`). */
export interface Timers {
  /** Calls `run` once. @returns a function that cancels the call; it has no effect after the call */
  after(ms: number, run: () => void): () => void;
}

/** Timers that keep the process alive until they fire. */
export const realTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Timers that do not keep the process alive. */
export const backgroundTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
