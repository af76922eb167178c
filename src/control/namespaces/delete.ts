import { notFound } from '../../base/errors.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import { eraseQueryLog } from '../../store/query-log/retention.ts';
import { deleteSomeOfNamespace } from '../../store/records/records.ts';
import type { Tx } from '../../store/store.ts';
import { addToRecordsCount, lockCustomer } from '../../store/tables/customers.ts';
import {
  closeNamespace,
  deleteNamespaceRow,
  lockClosing,
  lockNamespace,
  type NamespaceRow,
} from '../../store/tables/namespaces.ts';
import { deleteSomeTokens, liveQueryTokens } from '../../store/tables/query-tokens.ts';
import { foldUsage } from '../../store/tables/usage-sums.ts';
import type { Actor } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { authorizeNamespace, requireDeletable } from './namespaces.ts';

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
export async function deleteNamespace(deps: HasStore & HasClock, actor: Actor, id: string): Promise<void> {
  requireDeletable(actor, await authorizeNamespace(deps, actor, id));
  const now = deps.clock();
  await deps.store.write(async (tx) => {
    await lockCustomer(tx, actor.customerId);
    const namespace = await lockNamespace(tx, id, actor.customerId);
    if (namespace === null) throw notFound('Namespace');
    requireDeletable(actor, namespace);
    await closeInUnit(tx, namespace, now);
  });
}

/** Closes a namespace in a unit that holds its row and its customer's. */
export async function closeInUnit(tx: Tx, namespace: NamespaceRow, now: number): Promise<void> {
  const { id, customer_id, records_count } = namespace;
  await addToRecordsCount(tx, customer_id, -records_count, 0);
  await closeNamespace(tx, id, now);
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
