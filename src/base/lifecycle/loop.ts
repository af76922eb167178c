import { type Backoff, backoffMs, DEFAULT_BACKOFF } from './backoff.ts';
import type { Waker } from './waker.ts';

export interface LoopOptions {
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
