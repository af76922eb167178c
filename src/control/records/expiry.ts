import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { appendChanges, eraseKeys, type NewChange } from '../store/change-log.ts';
import type { Store, Tx } from '../store/store.ts';

/** Records deleted in one unit of work, so that writers never wait long behind a sweep. */
const SWEEP_LIMIT = 500;

/** Longest sleep between two looks: with the sweep itself, a record is gone within a second of its time. */
const LONGEST_SLEEP = 500;
const SHORTEST_SLEEP = 5;

interface Due {
  readonly id: string;
  readonly key: string;
  readonly namespace_id: string;
  readonly namespace: string;
  readonly user_id: string;
}

/**
 * Hard-deletes records whose time has come: row, earlier payloads in the log, counts, and a `record.deleted` with cause
 * `expiry`, in one unit of work. Several processes may sweep at once; each record is deleted and told of once.
 *
 * @param now milliseconds since the epoch
 * @returns records deleted here; `limit` means that there may be more
 */
export async function sweepExpired(store: Store, now: number, limit: number): Promise<number> {
  const due = await dueRecords(store, now, limit);
  if (due.length === 0) return 0;
  return store.write(async (tx) => {
    // Rows in the order in which every unit takes them: customer, namespace, record, log.
    await lock(tx, 'users', due, 'user_id');
    await lock(tx, 'namespaces', due, 'namespace_id');
    const gone = await deleteDue(tx, due, now);
    await lowerCounts(tx, 'users', countBy(gone, 'user_id'));
    await lowerCounts(tx, 'namespaces', countBy(gone, 'namespace_id'));
    if (gone.length === 0) return 0;
    await eraseKeys(
      tx,
      gone.map((record) => record.key),
    );
    await appendChanges(tx, gone.map(deletion), now);
    return gone.length;
  });
}

/** The next time a record falls due, or null. */
async function nextDue(store: Store): Promise<number | null> {
  const row = await store.read
    .selectFrom('records')
    .select('expires_at')
    .where('expires_at', 'is not', null)
    .orderBy('expires_at')
    .limit(1)
    .executeTakeFirst();
  return row?.expires_at ?? null;
}

async function dueRecords(store: Store, now: number, limit: number): Promise<Due[]> {
  return store.read
    .selectFrom('records as r')
    .innerJoin('namespaces as n', 'n.id', 'r.namespace_id')
    .select(['r.id', 'r.key', 'r.namespace_id', 'n.name as namespace', 'n.user_id'])
    .where('r.expires_at', 'is not', null)
    .where('r.expires_at', '<=', now)
    .orderBy('r.expires_at')
    .limit(limit)
    .execute();
}

/** In order of id, so that two sweeps cannot hold what the other waits for. */
async function lock(
  tx: Tx,
  table: 'users' | 'namespaces',
  due: readonly Due[],
  field: 'user_id' | 'namespace_id',
): Promise<void> {
  const ids = [...new Set(due.map((record) => record[field]))];
  await tx.selectFrom(table).select('id').where('id', 'in', ids).orderBy('id').forUpdate().execute();
}

/** Deletes those still due: meanwhile one may have been deleted, or given more time. */
async function deleteDue(tx: Tx, due: readonly Due[], now: number): Promise<Due[]> {
  const rows = await tx
    .deleteFrom('records')
    .where(
      'id',
      'in',
      due.map((record) => record.id),
    )
    .where('expires_at', '<=', now)
    .returning('id')
    .execute();
  const gone = new Set(rows.map((row) => row.id));
  return due.filter((record) => gone.has(record.id));
}

function countBy(records: readonly Due[], field: 'user_id' | 'namespace_id'): Map<string, number> {
  const counts = new Map<string, number>();
  for (const record of records) counts.set(record[field], (counts.get(record[field]) ?? 0) + 1);
  return counts;
}

async function lowerCounts(
  tx: Tx,
  table: 'users' | 'namespaces',
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  for (const [id, count] of counts) {
    await tx
      .updateTable(table)
      .set((eb) => ({ records_count: eb('records_count', '-', count) }))
      .where('id', '=', id)
      .execute();
  }
}

function deletion(record: Due): NewChange {
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
  while (!signal.aborted) {
    let wait = LONGEST_SLEEP;
    try {
      const deleted = await sweepExpired(store, clock(), SWEEP_LIMIT);
      if (deleted > 0) onSwept?.(deleted);
      wait = deleted === SWEEP_LIMIT ? 0 : sleepUntil(await nextDue(store), clock());
    } catch (error) {
      if (!signal.aborted) onError?.(error);
    }
    await sleep(wait, undefined, { signal }).catch(() => {});
  }
}

/** Milliseconds to sleep: to the next due time, within bounds, for another process may write an earlier one. */
export function sleepUntil(due: number | null, now: number): number {
  if (due === null) return LONGEST_SLEEP;
  return Math.min(LONGEST_SLEEP, Math.max(SHORTEST_SLEEP, due - now));
}
