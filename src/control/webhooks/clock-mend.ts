import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Store } from '../../store/store.ts';
import { servedAfter, takeBackTimes } from '../../store/webhooks/served-ahead.ts';

/** A clock that is set back by less makes a retry this much later. Milliseconds. */
const STEP_MS = 1000;
/** Webhooks in a unit of work. */
const UNIT = 100;

interface ClockMendOptions {
  readonly store: Pick<Store, 'read' | 'write'>;
  readonly clock: Clock;
  readonly elapsed: Timers['elapsed'];
  readonly signal: AbortSignal;
}

/**
 * What a clock that was ahead gave to webhooks (rests, retries, leases) lasts as much too long once the clock is right. The process whose clock was set
 * back takes it back: it knows that its own clock was wrong. By rows alone nobody can say whether the clock that wrote them was ahead or the one
 * that reads them is behind, and that one would hurry every retry.
 * @returns call it before each search; rejects when the store does, and tries again with the next call
 */
export function clockMend({ store, clock, elapsed, signal }: ClockMendOptions): () => Promise<void> {
  /** The most that the clock was ahead of elapsed time. */
  let most = clock() - elapsed();

  return async () => {
    const present = clock() - elapsed();
    if (most - present <= STEP_MS) {
      most = Math.max(most, present);
      return;
    }
    let ids: string[] = [];
    do {
      const at = clock() + STEP_MS;
      ids = await servedAfter(store.read, { at, after: ids.at(-1) ?? '', limit: UNIT });
      if (ids.length > 0) await store.write((tx) => takeBackTimes(tx, { ids, at, now: clock() }));
    } while (ids.length === UNIT && !signal.aborted);
    most = present;
  };
}
