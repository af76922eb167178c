import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { pruneLog } from './change-log.ts';
import type { Store } from './store.ts';

/** Erased bytes are gone from the files after this time at the latest, when no other process is in the way. */
const SCRUB_EVERY = 5_000;
/** Every so many rounds the log is pruned. */
const PRUNE_EVERY = 12;
const PRUNE_LIMIT = 1_000;

interface UpkeepOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Milliseconds that the log is kept, and longer where the fan-out lags. A follower that was away for longer begins from a
   * snapshot.
   */
  readonly keepLog: number;
  /** Told of a round that failed, which is tried again. */
  readonly onError?: (error: unknown) => void;
}

/** Scrubs and prunes until aborted. Resolves when it has stopped; never rejects. */
export async function startUpkeep({ store, clock, signal, keepLog, onError }: UpkeepOptions): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    try {
      if (round % PRUNE_EVERY === 0) await pruneAll(store, clock() - keepLog, signal);
      await store.scrub();
    } catch (error) {
      if (!signal.aborted) onError?.(error);
    }
    await sleep(SCRUB_EVERY, undefined, { signal }).catch(() => {});
  }
}

/** Prunes in units small enough that writers do not notice. */
async function pruneAll(store: Store, beforeAt: number, signal: AbortSignal): Promise<void> {
  for (let dropped = PRUNE_LIMIT; dropped === PRUNE_LIMIT && !signal.aborted; ) {
    dropped = await store.write((tx) => pruneLog(tx, beforeAt, PRUNE_LIMIT));
  }
}
