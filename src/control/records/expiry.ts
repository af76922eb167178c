import type { Clock } from '../../core/clock.ts';
import { loop } from '../../lifecycle/loop.ts';
import { createWaker } from '../../lifecycle/waker.ts';
import { appendChanges, type NewChange } from '../store/log/change-log.ts';
import type { Store } from '../store/store.ts';
import {
  type DueRecord,
  deleteDue,
  dueRecords,
  holdOwners,
  lowerCounts,
  nextDue,
} from '../store/tables/expiry.ts';

/** Records deleted in one unit of work, so that writers never wait long behind a sweep. */
const SWEEP_LIMIT = 500;

/** Longest sleep between two looks: with the sweep itself, a record is gone within a second of its time. */
const LONGEST_SLEEP = 500;
const SHORTEST_SLEEP = 5;

/** A store that is back is swept within this time, milliseconds. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

/**
 * Hard-deletes records whose time has come: row, counts, and a `record.deleted` with cause `expiry`, in one unit of work.
 * Several processes may sweep at once; each record is deleted and told of once.
 *
 * @param now milliseconds since the epoch
 * @returns records deleted here; `limit` means that there may be more
 */
export async function sweepExpired(store: Store, now: number, limit: number): Promise<number> {
  const due = await dueRecords(store.read, now, limit);
  if (due.length === 0) return 0;
  return store.write(async (tx) => {
    // Rows in the order in which every unit takes them: customer, namespace, record, log.
    const gone = await deleteDue(tx, await holdOwners(tx, due), now);
    await lowerCounts(tx, 'users', gone);
    await lowerCounts(tx, 'namespaces', gone);
    if (gone.length > 0) await appendChanges(tx, gone.map(deletion), now);
    return gone.length;
  });
}

function deletion(record: DueRecord): NewChange {
  const { user_id: owner, key, namespace } = record;
  return { type: 'record.deleted', owner, cause: 'expiry', key, namespace };
}

interface SweeperOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told how many records a sweep deleted, when it was any. */
  readonly onSwept?: (records: number) => void;
  /** Told of a sweep that failed, which is tried again. */
  readonly onError?: (error: unknown) => void;
}

/** Sweeps until aborted. Resolves when it has stopped; never rejects. */
export async function startSweeper(options: SweeperOptions): Promise<void> {
  const { store, clock, signal, onSwept, onError } = options;
  const pass = async (): Promise<number> => {
    const deleted = await sweepExpired(store, clock(), SWEEP_LIMIT);
    if (deleted > 0) onSwept?.(deleted);
    return deleted === SWEEP_LIMIT ? 0 : sleepUntil(await nextDue(store.read), clock());
  };
  const onFault = (error: unknown): void => onError?.(error);
  await loop({ signal, waker: createWaker(signal), pass, backoff: BACKOFF, onError: onFault });
}

/** Milliseconds to sleep: to the next due time, within bounds, for another process may write an earlier one. */
export function sleepUntil(due: number | null, now: number): number {
  if (due === null) return LONGEST_SLEEP;
  return Math.min(LONGEST_SLEEP, Math.max(SHORTEST_SLEEP, due - now));
}
