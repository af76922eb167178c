import type { Clock } from '../../core/clock.ts';
import { loop } from '../../lifecycle/loop.ts';
import { createWaker } from '../../lifecycle/waker.ts';
import { pruneLog } from './log/change-log.ts';
import { eraseSuperseded, isErasureDue } from './log/erasure.ts';
import type { Store } from './store.ts';

/** Milliseconds between two rounds. Each erases payloads of the log that the fan-out has read. */
const ROUND_MS = 1_000;
/** Rounds between two scrubs, which remove erased bytes from the files unless another process reads them. */
const SCRUB_EVERY = 4;
/** Rounds between two prunings of the log. */
const PRUNE_EVERY = 60;
/** Changes that one unit of work prunes or examines. */
const PRUNE_LIMIT = 1_000;
const ERASE_LIMIT = 500;

/** Milliseconds. After the database is back, the first round starts within the longest. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

interface UpkeepOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Milliseconds that the log is kept; longer where the fan-out lags. A follower that is further behind reads a snapshot.
   */
  readonly keepLog: number;
  /** Called after a round that failed. The loop retries it. */
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

/** Runs small units, so that writers do not wait long, until one has less to do than its limit. */
async function inUnits(signal: AbortSignal, limit: number, unit: () => Promise<number>): Promise<void> {
  for (let done = limit; done === limit && !signal.aborted; ) done = await unit();
}
