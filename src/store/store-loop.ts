import { type Backoff, createWaker, loop } from '../base/lifecycle/loop.ts';
import { loopTimers, type Timers } from '../base/lifecycle/timers.ts';
import type { Store } from './store.ts';

export interface StoreLoopOptions {
  readonly store: Pick<Store, 'onCommit'>;
  readonly signal: AbortSignal;
  /** @returns milliseconds until work that it knows of; null: it knows of none */
  readonly pass: () => Promise<number | null>;
  /** Milliseconds between two passes while units of work commit: what a commit has left is found after this time at the latest. */
  readonly busyMs: number;
  /** Must not throw. @param failures in a row, from 1 */
  readonly onError: (error: unknown, failures: number) => void;
  readonly backoff?: Backoff;
  readonly timers?: Timers | undefined;
}

/**
 * Milliseconds between two passes while nothing commits. It bounds the delay after a commit that no notice told of, and after a clock
 * that was set forward during the wait.
 */
export const QUIET_MS = 10_000;

/**
 * A loop over work that units of work leave in the store. While nothing commits it sleeps until the work that it knows of.
 * Resolves when it has ended; never rejects.
 */
export async function storeLoop(options: StoreLoopOptions): Promise<void> {
  const { store, signal, pass, busyMs, timers = loopTimers, ...rest } = options;
  const waker = createWaker(signal, timers);
  const unlisten = store.onCommit(() => waker.wake());
  await loop({
    ...rest,
    signal,
    waker,
    async pass() {
      const waitMs = Math.min(QUIET_MS, (await pass()) ?? QUIET_MS);
      const firstMs = Math.min(busyMs, waitMs);
      // A commit during this pause counts as a wake-up: the wait after it ends at once.
      if (firstMs > 0) await waker.sleep(firstMs);
      return waitMs - firstMs;
    },
  });
  unlisten();
}
