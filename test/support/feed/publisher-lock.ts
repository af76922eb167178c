import type { LeaderLock } from '../../../src/feed/ports/feed-store.ts';

/** A lock in memory, with the means to take it away. */
export interface TestLock {
  /** What one process sees of it. */
  of(name: string): LeaderLock;
  readonly holder: string | null;
  /** The holder loses it, and learns of it. */
  revoke(): void;
  /** Another process gets it, and the holder does not know: it was paused. */
  steal(): void;
  /** This process is dead: it neither holds the lock nor waits for it. */
  expire(name: string): void;
}

export function createTestLock(): TestLock {
  let current: { readonly name: string; readonly lost: AbortController } | null = null;
  let waiting: { readonly name: string; readonly take: () => void }[] = [];
  const free = (): void => {
    current = null;
    waiting.shift()?.take();
  };
  return {
    get holder() {
      return current?.name ?? null;
    },
    of: (name) => ({
      acquire: (signal) =>
        new Promise((resolve, reject) => {
          const take = (): void => {
            const mine = { name, lost: new AbortController() };
            current = mine;
            resolve({
              lost: mine.lost.signal,
              async release() {
                if (current === mine) free();
              },
            });
          };
          if (current === null && !signal.aborted) return take();
          const entry = { name, take };
          waiting.push(entry);
          const stop = (): void => {
            const at = waiting.indexOf(entry);
            if (at >= 0) waiting.splice(at, 1);
            reject(new Error('stopped'));
          };
          if (signal.aborted) stop();
          else signal.addEventListener('abort', stop, { once: true });
        }),
    }),
    revoke() {
      current?.lost.abort();
    },
    steal: free,
    expire(name) {
      waiting = waiting.filter((entry) => entry.name !== name);
      if (current?.name === name) free();
    },
  };
}
