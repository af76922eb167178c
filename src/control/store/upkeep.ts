import type { Clock } from '../../core/clock.ts';
import { loop } from '../../lifecycle/loop.ts';
import { createWaker } from '../../lifecycle/waker.ts';
import { pruneLog } from './log/change-log.ts';
import { eraseSuperseded, isErasureDue } from './log/erasure.ts';
import type { Store } from './store.ts';

/** Between two rounds, milliseconds. Each erases from the log what the fan-out has passed. */
const ROUND_MS = 1_000;
/** Every so many rounds the files are scrubbed: erased bytes are then gone from them, when no other process is in the way. */
const SCRUB_EVERY = 4;
/** Every so many rounds the log is pruned. */
const PRUNE_EVERY = 60;
/** Changes that one unit of work prunes or goes through. */
const PRUNE_LIMIT = 1_000;
const ERASE_LIMIT = 500;

/** A store that is back is looked after within this time, milliseconds. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

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

/**
 * Erases, scrubs and prunes until aborted: a payload that was replaced or deleted is gone from log and files within ten
 * seconds, most of which are for the fan-out. Resolves when it has stopped; never rejects.
 */
export async function startUpkeep({ store, clock, signal, keepLog, onError }: UpkeepOptions): Promise<void> {
  let round = 0;
  const pass = async (): Promise<number> => {
    if (round % PRUNE_EVERY === 0) {
      await inUnits(signal, PRUNE_LIMIT, () =>
        store.write((tx) => pruneLog(tx, clock() - keepLog, PRUNE_LIMIT)),
      );
    }
    if (await isErasureDue(store.read)) {
      await inUnits(signal, ERASE_LIMIT, () => store.write((tx) => eraseSuperseded(tx, ERASE_LIMIT)));
    }
    if (round % SCRUB_EVERY === 0) await store.scrub();
    round++;
    return ROUND_MS;
  };
  const onFault = (error: unknown): void => onError?.(error);
  await loop({ signal, waker: createWaker(signal), pass, backoff: BACKOFF, onError: onFault });
}

/** Runs units small enough that writers do not notice, until one is not full. */
async function inUnits(signal: AbortSignal, limit: number, unit: () => Promise<number>): Promise<void> {
  for (let done = limit; done === limit && !signal.aborted; ) done = await unit();
}
