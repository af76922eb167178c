import { loopTimers, type Timers } from './timers.ts';

/** Lets one loop sleep until it is woken. Several wake-ups during a pass count as one. */
export interface Waker {
  wake(): void;
  /** Forgets earlier wake-ups. Call it before the work: a call after it would lose wake-ups that came meanwhile. */
  reset(): void;
  woken(): boolean;
  /** Resolves at the next wake-up (true), at once when there was one since `reset`, or after `ms` (false). */
  wait(ms: number): Promise<boolean>;
  /** Resolves after `ms` milliseconds, as `timers` count them. Wake-ups do not end it; the signal does. */
  sleep(ms: number): Promise<void>;
}

/**
 * @param signal ends the present wait and every later one at once
 * @param timers without them a pause of a second or more may end up to a second early, on a whole second (`loopTimers`)
 */
export function createWaker(signal: AbortSignal, timers: Timers = loopTimers): Waker {
  let isWoken = false;
  let isWakeable = false;
  let endWait = (): void => {};

  function pause(ms: number, wakeable: boolean): Promise<void> {
    if (signal.aborted || (wakeable && isWoken)) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = timers.after(ms, () => endWait());
      isWakeable = wakeable;
      endWait = () => {
        cancel();
        signal.removeEventListener('abort', endWait);
        endWait = () => {};
        resolve();
      };
      signal.addEventListener('abort', endWait, { once: true });
    });
  }

  return {
    wake() {
      isWoken = true;
      if (isWakeable) endWait();
    },
    reset() {
      isWoken = false;
    },
    woken: () => isWoken,
    async wait(ms) {
      await pause(ms, true);
      return isWoken;
    },
    sleep: (ms) => pause(ms, false),
  };
}
