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
  /** Milliseconds: an attempt that is under way may be settled by the time that was read before it. */
  readonly leaseMs: number;
  readonly signal: AbortSignal;
}

/**
 * What a clock that was ahead gave to webhooks (rests and retries) lasts as much too long once the clock is right. The process whose clock was set
 * back takes it back, and once more when the attempts under way have ended; one that starts takes back what another gave before it ended. By rows
 * alone nobody can say whether the clock that wrote them was ahead or the one that reads them is behind, and that one hurries every retry: so once
 * at a start, and not later.
 * @returns call it before each search; rejects when the store does, and tries again with the next call
 */
export function clockMend({ store, clock, elapsed, leaseMs, signal }: ClockMendOptions): () => Promise<void> {
  /** The most that the clock was ahead of elapsed time. */
  let most = clock() - elapsed();
  /** By elapsed time. */
  let againAt = elapsed();

  async function takeBack(): Promise<void> {
    let ids: string[] = [];
    do {
      const at = clock() + STEP_MS;
      ids = await servedAfter(store.read, { at, after: ids.at(-1) ?? '', limit: UNIT });
      if (ids.length > 0) await store.write((tx) => takeBackTimes(tx, { ids, at, now: clock() }));
    } while (ids.length === UNIT && !signal.aborted);
  }

  return async () => {
    const present = clock() - elapsed();
    const wasSetBack = most - present > STEP_MS;
    if (wasSetBack || elapsed() >= againAt) {
      await takeBack();
      againAt = wasSetBack ? elapsed() + leaseMs : Number.POSITIVE_INFINITY;
    }
    most = wasSetBack ? present : Math.max(most, present);
  };
}
