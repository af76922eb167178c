import type { Db, Tx } from '../store.ts';

/** A record past its expiry, with whom it counts for. */
export interface DueRecord {
  readonly id: string;
  readonly key: string;
  readonly namespace_id: string;
  readonly namespace: string;
  readonly user_id: string;
}

/** The next time a record falls due, or null. Records of a namespace that is being deleted go with it. */
export async function nextDue(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('records as r')
    .innerJoin('namespaces as n', 'n.id', 'r.namespace_id')
    .select('r.expires_at')
    .where('r.expires_at', 'is not', null)
    .where('n.closing', '=', 0)
    .orderBy('r.expires_at')
    .limit(1)
    .executeTakeFirst();
  return row?.expires_at ?? null;
}

export async function dueRecords(db: Db, now: number, limit: number): Promise<DueRecord[]> {
  return db
    .selectFrom('records as r')
    .innerJoin('namespaces as n', 'n.id', 'r.namespace_id')
    .select(['r.id', 'r.key', 'r.namespace_id', 'n.name as namespace', 'n.user_id'])
    .where('r.expires_at', 'is not', null)
    .where('r.expires_at', '<=', now)
    .where('n.closing', '=', 0)
    .orderBy('r.expires_at')
    .limit(limit)
    .execute();
}

/**
 * Holds the customers and the namespaces of records until the unit ends, each in order of id, so that two sweeps cannot hold
 * what the other waits for.
 *
 * @returns the records whose namespace is not being deleted
 */
export async function holdOwners(tx: Tx, due: readonly DueRecord[]): Promise<DueRecord[]> {
  const users = [...new Set(due.map(({ user_id }) => user_id))];
  await tx.selectFrom('users').select('id').where('id', 'in', users).orderBy('id').forNoKeyUpdate().execute();
  const rows = await tx
    .selectFrom('namespaces')
    .select(['id', 'closing'])
    .where('id', 'in', [...new Set(due.map(({ namespace_id }) => namespace_id))])
    .orderBy('id')
    .forUpdate()
    .execute();
  const open = new Set(rows.flatMap(({ id, closing }) => (closing === 0 ? [id] : [])));
  return due.filter(({ namespace_id }) => open.has(namespace_id));
}

/** Deletes those still due: meanwhile one may have been deleted, or given more time. */
export async function deleteDue(tx: Tx, due: readonly DueRecord[], now: number): Promise<DueRecord[]> {
  if (due.length === 0) return [];
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

/** Keeps the counts of customers or namespaces true after these records are gone. */
export async function lowerCounts(
  tx: Tx,
  table: 'users' | 'namespaces',
  gone: readonly DueRecord[],
): Promise<void> {
  const field = table === 'users' ? 'user_id' : 'namespace_id';
  const counts = new Map<string, number>();
  for (const record of gone) counts.set(record[field], (counts.get(record[field]) ?? 0) + 1);
  for (const [id, count] of counts) {
    await tx
      .updateTable(table)
      .set((eb) => ({ records_count: eb('records_count', '-', count) }))
      .where('id', '=', id)
      .execute();
  }
}
