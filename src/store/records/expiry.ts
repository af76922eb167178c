import { listStatement, statement } from '../engine/statement.ts';
import type { NamespacesTable, RecordsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** A record past its expiry, with the namespace and the customer that it counts for. */
export interface DueRecord {
  readonly id: string;
  readonly key: string;
  readonly namespace_id: string;
  readonly namespace: string;
  readonly customer_id: string;
  /** 1: its namespace is being deleted, so it no longer counts for the customer. */
  readonly closing: number;
}

const NEXT_DUE = statement<object, { expires_at: number }>(
  'select expires_at from records where expires_at is not null order by expires_at limit 1',
);

/** The earliest expiry of a record, in milliseconds since the epoch; null when no record expires. */
export async function nextDue(db: Db): Promise<number | null> {
  return (await NEXT_DUE.first(db, {}))?.expires_at ?? null;
}

const DUE = statement<{ now: number; limit: number }, Pick<RecordsTable, 'id' | 'key' | 'namespace_id'>>(
  `select id, key, namespace_id from records where expires_at is not null and expires_at <= :now
  order by expires_at limit :limit`,
);

interface Ids {
  readonly ids: readonly string[];
}

const OWNERS = listStatement<Ids, { customer_id: string }>(
  'select distinct customer_id from namespaces where id in (:ids)',
  'text',
);

const LOCK_CUSTOMERS = listStatement<Ids>('select id from customers where id in (:ids) order by id', 'text', {
  lock: 'for no key update',
});

const LOCK_NAMESPACES = listStatement<
  Ids,
  Pick<NamespacesTable, 'id' | 'name' | 'customer_id'> & { closing: number }
>('select id, name, customer_id, closing from namespaces where id in (:ids) order by id', 'text', {
  lock: 'for update',
});

/**
 * Locks up to `limit` due records' customers and namespaces until the unit ends, each in order of id: two sweeps that lock in
 * different orders would deadlock. It reads at most `limit` records, by the index of expiry times.
 * @returns the records that were due, the earliest first
 */
export async function lockDueRecords(tx: Tx, now: number, limit: number): Promise<DueRecord[]> {
  const due = await DUE.all(tx, { now, limit });
  if (due.length === 0) return [];
  const ids = [...new Set(due.map(({ namespace_id }) => namespace_id))];
  const owners = await OWNERS.all(tx, { ids });
  await LOCK_CUSTOMERS.run(tx, { ids: owners.map(({ customer_id }) => customer_id) });
  const locked = await LOCK_NAMESPACES.all(tx, { ids });
  const byId = new Map(locked.map((row) => [row.id, row]));
  return due.flatMap((record) => {
    const namespace = byId.get(record.namespace_id);
    if (namespace === undefined) return [];
    const { name, customer_id, closing } = namespace;
    return [{ ...record, namespace: name, customer_id, closing }];
  });
}

const DELETE_DUE = listStatement<Ids & { now: number }, { id: string }>(
  'delete from records where id in (:ids) and expires_at <= :now returning id',
  'text',
);

/** Deletes the records that are still due: another unit may have deleted one, or extended its time, before the locks. */
export async function deleteDue(tx: Tx, due: readonly DueRecord[], now: number): Promise<DueRecord[]> {
  if (due.length === 0) return [];
  const rows = await DELETE_DUE.all(tx, { ids: due.map(({ id }) => id), now });
  const gone = new Set(rows.map((row) => row.id));
  return due.filter((record) => gone.has(record.id));
}

type Lower = { readonly id: string; readonly count: number };

const LOWER = {
  customers: statement<Lower>('update customers set records_count = records_count - :count where id = :id'),
  namespaces: statement<Lower>('update namespaces set records_count = records_count - :count where id = :id'),
} as const;

/** Lowers the record counts of customers or namespaces by the records deleted. */
export async function lowerCounts(
  tx: Tx,
  table: 'customers' | 'namespaces',
  gone: readonly DueRecord[],
): Promise<void> {
  const field = table === 'customers' ? 'customer_id' : 'namespace_id';
  const counts = new Map<string, number>();
  for (const record of gone) counts.set(record[field], (counts.get(record[field]) ?? 0) + 1);
  for (const [id, count] of counts) await LOWER[table].run(tx, { id, count });
}
