import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import { type DueRecord, deleteDue, lockDueRecords, lowerCounts, nextDue } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { storeLoop } from '../../store/store-loop.ts';
import { auditExpiries, audited } from '../audit/actions.ts';

/** Records of one unit of work: it bounds how long other writers wait. */
const SWEEP_LIMIT = 500;

/** Milliseconds. A record is deleted within a second of its expiry: a commit may have left one that expires earlier. */
const BUSY_MS = 500;
const SHORTEST_SLEEP = 5;

/** Milliseconds. After a database failure a sweep starts within `capMs`. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

/**
 * Deletes expired records with counts and `record.deleted` changes, in one unit. Several processes may sweep: each record is deleted once.
 * It also deletes records of closed namespaces: they would stay first in the index of expiry times, and each sweep would read them.
 * @returns how many were deleted; `limit`: more may be due
 */
export async function sweepExpired(store: Store, now: number, limit: number): Promise<number> {
  const earliest = await nextDue(store.read);
  if (earliest === null || earliest > now) return 0;
  return store.write(async (tx) => {
    // Lock order of every unit: customer, namespace, record, log.
    const deleted = await deleteDue(tx, await lockDueRecords(tx, now, limit), now);
    // The unit that closed a namespace has already subtracted its records.
    const counted = deleted.filter(({ closing }) => closing === 0);
    await lowerCounts(tx, 'customers', counted);
    await lowerCounts(tx, 'namespaces', counted);
    if (deleted.length > 0) {
      const seq = await appendChanges(tx, deleted.map(deletion), now);
      await auditExpiries(tx, now, seq, groupsOf(counted));
    }
    return deleted.length;
  });
}

/** The records of each namespace. A single one is named. */
function groupsOf(gone: readonly DueRecord[]) {
  return [...Map.groupBy(gone, ({ namespace_id }) => namespace_id).values()].map((records) => {
    const [first, second] = records;
    const { customer_id: customerId, namespace } = first!;
    const object =
      second === undefined ? audited.record(first!, namespace) : audited.records(records.length, namespace);
    return { customerId, object };
  });
}

function deletion({ customer_id: owner, key, namespace, closing }: DueRecord): NewChange {
  return { type: 'record.deleted', owner, cause: closing === 0 ? 'expiry' : 'cascade', key, namespace };
}

interface SweeperOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timers?: Timers | undefined;
  /** Called after a sweep that deleted records. */
  readonly onSwept?: (records: number) => void;
  /** Called after a failed sweep. The sweeper retries. */
  readonly onError?: (error: unknown) => void;
}

/** Runs until aborted. Never rejects. */
export async function startSweeper(options: SweeperOptions): Promise<void> {
  const { store, clock, signal, timers, onSwept, onError } = options;
  const pass = async (): Promise<number | null> => {
    const deleted = await sweepExpired(store, clock(), SWEEP_LIMIT);
    if (deleted > 0) onSwept?.(deleted);
    return deleted === SWEEP_LIMIT ? 0 : sleepUntil(await nextDue(store.read), clock());
  };
  const onFault = (error: unknown): void => onError?.(error);
  await storeLoop({ store, signal, timers, pass, busyMs: BUSY_MS, backoff: BACKOFF, onError: onFault });
}

/** Milliseconds; null: nothing expires. */
export function sleepUntil(due: number | null, now: number): number | null {
  return due === null ? null : Math.max(SHORTEST_SLEEP, due - now);
}
