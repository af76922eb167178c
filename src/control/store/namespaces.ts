import { type Insertable, sql } from 'kysely';
import type { NamespacesTable } from './schema.ts';
import type { Db, Tx } from './store.ts';

export type NamespaceRow = NamespacesTable;

/** Names in one list: well below the parameters that either engine allows in a statement. */
const CHUNK = 500;

/** @returns false when the name is taken */
export async function insertNamespace(tx: Tx, namespace: Insertable<NamespacesTable>): Promise<boolean> {
  const row = await tx
    .insertInto('namespaces')
    .values(namespace)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function findNamespace(db: Db, id: string, userId: string): Promise<NamespaceRow | null> {
  const row = await db
    .selectFrom('namespaces')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row ?? null;
}

/** A customer's namespaces, by name. */
export function listNamespaces(db: Db, userId: string): Promise<NamespaceRow[]> {
  return db.selectFrom('namespaces').selectAll().where('user_id', '=', userId).orderBy('name').execute();
}

/** Those of `names` that the customer owns. */
export async function findNamespacesByName(
  db: Db,
  names: readonly string[],
  userId: string,
): Promise<Map<string, NamespaceRow>> {
  const found = new Map<string, NamespaceRow>();
  for (let start = 0; start < names.length; start += CHUNK) {
    const rows = await db
      .selectFrom('namespaces')
      .selectAll()
      .where('name', 'in', names.slice(start, start + CHUNK))
      .where('user_id', '=', userId)
      .execute();
    for (const row of rows) found.set(row.name, row);
  }
  return found;
}

export async function countNamespaces(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('namespaces')
    .select((namespace) => namespace.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Adds to the record count of the customer's namespace and holds its row until the unit ends: it cannot be deleted
 * meanwhile.
 *
 * @returns the namespace's id, or null when the customer has no such namespace
 */
export async function addToNamespaceCount(
  tx: Tx,
  name: string,
  userId: string,
  delta: number,
): Promise<string | null> {
  const row = await tx
    .updateTable('namespaces')
    .set({ records_count: sql<number>`records_count + ${delta}` })
    .where('name', '=', name)
    .where('user_id', '=', userId)
    .returning('id')
    .executeTakeFirst();
  return row?.id ?? null;
}

/** Reads a namespace and holds its row until the unit ends. */
export async function lockNamespace(tx: Tx, id: string, userId: string): Promise<NamespaceRow | null> {
  const row = await tx
    .selectFrom('namespaces')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export async function deleteNamespaceRow(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('namespaces').where('id', '=', id).execute();
}

/** The flags that only the operator sets. */
export type NamespaceFlags = Partial<Pick<NamespacesTable, 'public_read' | 'suspended'>>;

/** @returns the namespace after the change, or null when nobody has one of this name */
export async function setNamespaceFlags(
  tx: Tx,
  name: string,
  flags: NamespaceFlags,
  now: number,
): Promise<NamespaceRow | null> {
  const row = await tx
    .updateTable('namespaces')
    .set({
      ...flags,
      updated_at: sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`,
    })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Every namespace with its customer's mail address, by name in byte order on either engine. */
export async function listNamespacesWithOwners(db: Db): Promise<(NamespaceRow & { email: string })[]> {
  const rows = await db
    .selectFrom('namespaces')
    .innerJoin('users', 'users.id', 'namespaces.user_id')
    .selectAll('namespaces')
    .select('users.email')
    .execute();
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}
