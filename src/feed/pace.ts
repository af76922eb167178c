/** Milliseconds before the first retry; each further one waits twice as long, up to the cap. */
const FIRST_MS = 100;
const CAP_MS = 10_000;

/** @param failures in a row, at least 1 */
export function backoffMs(failures: number): number {
  return Math.min(CAP_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30));
}

/** Lets one loop sleep until it is woken. Wake-ups that come while it is busy count as one. */
export interface Waker {
  wake(): void;
  /** Forgets wake-ups so far: called before the work that they ask for. */
  reset(): void;
  woken(): boolean;
  /** Resolves at the next wake-up (true), at once when there was one since `reset`, or after `ms` (false). */
  wait(ms: number): Promise<boolean>;
  /** Resolves after `ms`, wake-ups or not. */
  sleep(ms: number): Promise<void>;
  /** Ends the present wait and every later one at once. */
  stop(): void;
}

export function createWaker(): Waker {
  let woken = false;
  let stopped = false;
  /** Ends the present wait, if there is one. */
  let end: (() => void) | null = null;
  let wakes = false;

  const pass = (ms: number, wakeable: boolean): Promise<void> =>
    new Promise((resolve) => {
      if (stopped || (wakeable && woken)) {
        resolve();
        return;
      }
      const timer = setTimeout(() => end?.(), ms);
      wakes = wakeable;
      end = () => {
        clearTimeout(timer);
        end = null;
        resolve();
      };
    });

  return {
    wake() {
      woken = true;
      if (wakes) end?.();
    },
    reset() {
      woken = false;
    },
    woken: () => woken,
    async wait(ms) {
      await pass(ms, true);
      return woken;
    },
    sleep: (ms) => pass(ms, false),
    stop() {
      stopped = true;
      end?.();
    },
  };
}
