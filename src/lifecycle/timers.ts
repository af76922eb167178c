/** The one way to wait. Tests pass timers that they turn by hand. */
export interface Timers {
  /**
   * Calls `run` once after `ms` milliseconds.
   *
   * @returns a function that cancels the call; harmless afterwards
   */
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
