import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { loop } from '../../base/lifecycle/loop.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import type { Store, Tx } from '../../store/store.ts';
import { closingCustomers, deleteCustomer, lockClosingCustomer } from '../../store/tables/customers.ts';
import { deleteAnswersOf } from '../../store/tables/idempotency-keys.ts';
import { closingNamespaces, lockNextOpenNamespace } from '../../store/tables/namespaces.ts';
import { CLOSING_UNIT, closeInUnit, deleteSome } from './delete.ts';

/**
 * One unit of the deletion of a closed customer: closes a namespace, or deletes stored answers, or, when nothing is left, the
 * customer. The row is the progress, so any process goes on after a crash.
 * @returns whether another unit can follow at once; false also while namespaces or webhooks are being deleted
 */
async function deleteSomeOfCustomer(tx: Tx, id: string, now: number): Promise<boolean> {
  if (!(await lockClosingCustomer(tx, id))) return false;
  const namespace = await lockNextOpenNamespace(tx, id);
  if (namespace !== null) {
    await closeInUnit(tx, namespace, now);
    return true;
  }
  if ((await deleteAnswersOf(tx, id, CLOSING_UNIT)) === CLOSING_UNIT) return true;
  await deleteCustomer(tx, id);
  return false;
}

/** Milliseconds between searches for deletions that another process left unfinished. */
const LOOK_MS = 5_000;
/** Longest pause after a unit, milliseconds. A pause is as long as its unit took, so that others can write. */
const REST_MAX_MS = 50;
/** Namespaces in one search. */
const PAGE = 100;
/** Failed units after which a pass ends: then the database is the likelier cause. */
const FAILURES_MAX = 5;

interface UnitOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface DeletionsOptions extends UnitOptions {
  /** Called when a pass failed. The next pass tries again. */
  readonly onError: (error: unknown) => void;
}

/** Deletes closed namespaces and customers until aborted; several processes may do so on one database. Never rejects. */
export async function startDeletions(options: DeletionsOptions): Promise<void> {
  const { store, signal, onError } = options;
  const waker = createWaker(signal);
  const unlisten = store.onWork('deletions', () => waker.wake());
  const pass = async (): Promise<number> => {
    await deleteClosed(options);
    return LOOK_MS;
  };
  await loop({ signal, waker, pass, onError });
  unlisten();
}

/**
 * Deletes what is closed, customers with their namespaces, as far as it can be deleted now. What fails is left out of the rest of the
 * pass, so that it stops no other deletion. @throws the first error, at the end
 */
export async function deleteClosed({ store, clock, signal }: UnitOptions): Promise<void> {
  /** Runs one unit, and rests as long as it took. */
  const run = async <T>(unit: (tx: Tx) => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await store.write(unit);
    const rest = Math.min(REST_MAX_MS, performance.now() - began);
    await sleep(rest, undefined, { signal }).catch(() => {});
    return result;
  };
  const failures = new Map<string, unknown>();
  const attempt = async (id: string, unit: (tx: Tx) => Promise<boolean>): Promise<boolean> => {
    if (failures.has(id)) return false;
    try {
      return await run(unit);
    } catch (error) {
      failures.set(id, error);
      if (failures.size >= FAILURES_MAX) throw error;
      return false;
    }
  };
  for (let mayBeMore = true; mayBeMore; ) {
    mayBeMore = false;
    // One unit of each customer and namespace in turn: a large one does not block the names of small ones.
    for (const id of await closingCustomers(store.read, PAGE)) {
      if (signal.aborted) return;
      if (await attempt(id, (tx) => deleteSomeOfCustomer(tx, id, clock()))) mayBeMore = true;
    }
    for (const id of await closingNamespaces(store.read, PAGE)) {
      if (signal.aborted) return;
      const unit = (tx: Tx): Promise<true> => deleteSome(tx, id, clock()).then(() => true);
      if (await attempt(id, unit)) mayBeMore = true;
    }
  }
  for (const error of failures.values()) throw error;
}
