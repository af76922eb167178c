import { notFound } from '../../base/errors.ts';
import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import {
  addToRecordsCount,
  closingCustomers,
  deleteCustomer,
  lockClosingCustomer,
} from '../../store/accounts.ts';
import { deleteAuditOf } from '../../store/audit.ts';
import { deleteAnswersOf } from '../../store/idempotency-keys.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import {
  closeNamespace,
  closingNamespaces,
  deleteNamespaceRow,
  lockClosing,
  lockNamespace,
  lockNextOpenNamespace,
  type NamespaceRow,
} from '../../store/namespaces.ts';
import { eraseQueryLog } from '../../store/query-log/retention.ts';
import { deleteSomeTokens, liveQueryTokens } from '../../store/query-tokens.ts';
import { deleteSomeOfNamespace } from '../../store/records.ts';
import type { Store, Tx } from '../../store/store.ts';
import { foldUsage } from '../../store/usage.ts';
import { endHistory } from '../../store/versions.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasStore, HasUnit } from '../deps.ts';
import { authorizeNamespace, requireDeletable } from './rules.ts';

/** Rows that the closing unit deletes. A smaller namespace needs no other unit. */
export const CLOSING_UNIT = 500;
/** Rows of each later unit. Other writers wait half as long for 250 as for 500. */
export const DELETION_UNIT = 250;
/** Blocks of the query log, and hours of usage, in one unit. They are small, and no Change tells of them. */
export const LOG_UNIT = 1_000;

/**
 * Closes a namespace in one unit of work: reads are refused, tokens revoked, lists and writes no longer find it. Up to
 * `CLOSING_UNIT` records go with that unit, more in later ones (`deletions.ts`). The name stays taken until the last.
 * @throws AppError 404; 403 outside the key's allowlist, for a namespace-scoped key, or for a suspended namespace
 */
export async function deleteNamespace(
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  id: string,
): Promise<void> {
  requireDeletable(actor, await authorizeNamespace(deps, actor, id));
  const now = deps.clock();
  await deps.unit(actor, async (tx) => {
    const namespace = await lockNamespace(tx, id, actor.customerId);
    if (namespace === null) throw notFound('Namespace');
    requireDeletable(actor, namespace);
    await audit(tx, actor, now, 'namespace.deleted', audited.namespace(namespace));
    await closeInUnit(tx, namespace, now);
  });
}

/** Closes a namespace in a unit that holds its row and its customer's. */
async function closeInUnit(tx: Tx, namespace: NamespaceRow, now: number): Promise<void> {
  const { id, customer_id, records_count, history_id } = namespace;
  await addToRecordsCount(tx, customer_id, -records_count, 0);
  await closeNamespace(tx, id, now);
  if (history_id !== null) await endHistory(tx, history_id);
  const revoked = (await liveQueryTokens(tx, id, now)).map(
    ({ digest }): NewChange => ({ ...cascadeOf(namespace), type: 'token.revoked', digest }),
  );
  const closing: NewChange = { ...cascadeOf(namespace), type: 'namespace.closing', id };
  const rest = records_count <= CLOSING_UNIT ? await deleteRows(tx, namespace, CLOSING_UNIT) : [];
  await appendChanges(tx, [...revoked, closing, ...rest], now);
}

/** One deletion unit of a closed namespace. @returns whether it was the last */
export async function deleteSome(tx: Tx, id: string, now: number): Promise<boolean> {
  const namespace = await lockClosing(tx, id);
  if (namespace === null) return true;
  const changes = await deleteRows(tx, namespace, DELETION_UNIT);
  if (changes.length > 0) await appendChanges(tx, changes, now);
  return changes.at(-1)?.type === 'namespace.deleted';
}

/** Order: records, tokens, query log, usage, namespace; at most `limit` rows. @returns the changes for the log */
async function deleteRows(tx: Tx, namespace: NamespaceRow, limit: number): Promise<NewChange[]> {
  const { id } = namespace;
  const keys = await deleteSomeOfNamespace(tx, id, limit);
  const changes = keys.map((key): NewChange => ({ ...cascadeOf(namespace), type: 'record.deleted', key }));
  const room = limit - keys.length;
  if (room === 0 || (await deleteSomeTokens(tx, id, room)) === room) return changes;
  if (!(await eraseQueryLog(tx, id, LOG_UNIT))) return changes;
  if (!(await foldUsage(tx, id, namespace.customer_id, LOG_UNIT))) return changes;
  await deleteNamespaceRow(tx, id);
  return [...changes, { ...cascadeOf(namespace), cause: 'direct', type: 'namespace.deleted', id }];
}

function cascadeOf({ name, customer_id }: NamespaceRow) {
  return { owner: customer_id, namespace: name, cause: 'cascade' } as const;
}

/**
 * One unit of the deletion of a closed customer: closes a namespace, or deletes stored answers or rows of the audit log, or, when nothing is left, the
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
  if ((await deleteAuditOf(tx, id, CLOSING_UNIT)) === CLOSING_UNIT) return true;
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
  readonly timers?: Timers | undefined;
}

interface DeletionsOptions extends UnitOptions {
  /** Called when a pass failed. The next pass tries again. */
  readonly onError: (error: unknown) => void;
}

/** Deletes closed namespaces and customers until aborted; several processes may do so on one database. Never rejects. */
export async function startDeletions(options: DeletionsOptions): Promise<void> {
  const { store, signal, timers, onError } = options;
  const waker = createWaker(signal, timers);
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
export async function deleteClosed({
  store,
  clock,
  signal,
  timers = realTimers,
}: UnitOptions): Promise<void> {
  const waker = createWaker(signal, timers);
  /** Runs one unit, and rests as long as it took. */
  const run = async <T>(unit: (tx: Tx) => Promise<T>): Promise<T> => {
    const began = timers.elapsed();
    const result = await store.write(unit);
    await waker.sleep(Math.min(REST_MAX_MS, timers.elapsed() - began));
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
