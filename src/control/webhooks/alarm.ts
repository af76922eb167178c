/** Lets one loop sleep until it is woken. Wake-ups that come while it is awake count as one. */
export interface Alarm {
  wake(): void;
  /** Forgets wake-ups so far: called before the work that they ask for. */
  reset(): void;
  /** Resolves at the next wake-up, at once when there was one since `reset`, or after `ms`. */
  wait(ms: number): Promise<void>;
  /** Resolves after `ms`, wake-ups or not. */
  sleep(ms: number): Promise<void>;
}

/** @param signal ends the present pause and every later one at once */
export function createAlarm(signal: AbortSignal): Alarm {
  let woken = false;
  let isWakeable = false;
  let end = (): void => {};

  const pause = (ms: number, wakeable: boolean): Promise<void> => {
    if (signal.aborted || (wakeable && woken)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(), ms);
      isWakeable = wakeable;
      end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        end = () => {};
        resolve();
      };
      signal.addEventListener('abort', end, { once: true });
    });
  };

  return {
    wake() {
      woken = true;
      if (isWakeable) end();
    },
    reset() {
      woken = false;
    },
    wait: (ms) => pause(ms, true),
    sleep: (ms) => pause(ms, false),
  };
}
