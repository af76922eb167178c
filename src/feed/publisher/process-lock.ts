import type { LeaderLock } from '../ports/leader-lock.ts';

/**
 * The lock where only one process can publish: over SQLite, where the lock of the data directory lets in one server. It divides the
 * publishers of this process.
 */
export function processLock(): LeaderLock {
  let isHeld = false;
  const waiting = new Set<() => void>();

  function free(): void {
    isHeld = false;
    const [next] = waiting;
    next?.();
  }

  return {
    acquire: (signal) =>
      new Promise((resolve, reject) => {
        function stop(): void {
          waiting.delete(take);
          reject(signal.reason as Error);
        }
        function take(): void {
          waiting.delete(take);
          signal.removeEventListener('abort', stop);
          isHeld = true;
          let isOurs = true;
          resolve({
            // Nobody takes it away.
            lost: new AbortController().signal,
            async release() {
              if (isOurs) free();
              isOurs = false;
            },
          });
        }
        if (signal.aborted) return stop();
        if (!isHeld) return take();
        waiting.add(take);
        signal.addEventListener('abort', stop, { once: true });
      }),
  };
}
