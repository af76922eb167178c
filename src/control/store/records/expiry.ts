import type { Db, Tx } from '../store.ts';

/** A record past its expiry, with the namespace and the customer that it counts for. */
export interface DueRecord {
  readonly id: string;
  readonly key: string;
  readonly namespace_id: string;
  readonly namespace: string;
  readonly user_id: string;
  /** 1: its namespace is being deleted, so it no longer counts for the customer. */
  readonly closing: number;
}

/** The earliest expiry of a record, in milliseconds since the epoch; null when no record expires. */
export async function nextDue(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('records')
    .select('expires_at')
    .where('expires_at', 'is not', null)
    .orderBy('expires_at')
    .limit(1)
    .executeTakeFirst();
  return row?.expires_at ?? null;
}

/**
 * Locks up to `limit` due records' customers and namespaces until the unit ends, each in order of id: two sweeps that lock in
 * different orders would deadlock. It reads at most `limit` records, by the index of expiry times.
 * @returns the records that were due, the earliest first
 */
export async function lockDueRecords(tx: Tx, now: number, limit: number): Promise<DueRecord[]> {
  const due = await tx
    .selectFrom('records')
    .select(['id', 'key', 'namespace_id'])
    .where('expires_at', 'is not', null)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  if (due.length === 0) return [];
  const ids = [...new Set(due.map(({ namespace_id }) => namespace_id))];
  const namespaces = tx.selectFrom('namespaces').where('id', 'in', ids);
  const owners = (await namespaces.select('user_id').execute()).map(({ user_id }) => user_id);
  await tx
    .selectFrom('users')
    .select('id')
    .where('id', 'in', [...new Set(owners)])
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  const locked = await namespaces
    .select(['id', 'name', 'user_id', 'closing'])
    .orderBy('id')
    .forUpdate()
    .execute();
  const byId = new Map(locked.map((row) => [row.id, row]));
  return due.flatMap((record) => {
    const namespace = byId.get(record.namespace_id);
    if (namespace === undefined) return [];
    const { name, user_id, closing } = namespace;
    return [{ ...record, namespace: name, user_id, closing }];
  });
}

/** Deletes the records that are still due: another unit may have deleted one, or extended its time, before the locks. */
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

/** Lowers the record counts of customers or namespaces by the records deleted. */
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
