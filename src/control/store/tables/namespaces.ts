import { type Insertable, type Selectable, sql } from 'kysely';
import { markWork } from '../engine/unit-marks.ts';
import type { NamespacesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type NamespaceRow = Selectable<NamespacesTable>;

// Only the functions at the end of this file find a namespace that is closing.

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
    .where('closing', '=', 0)
    .executeTakeFirst();
  return row ?? null;
}

/** A customer's namespaces, by name, in the order of its bytes. */
export function listNamespaces(db: Db, userId: string): Promise<NamespaceRow[]> {
  return db
    .selectFrom('namespaces')
    .selectAll()
    .where('user_id', '=', userId)
    .where('closing', '=', 0)
    .orderBy('name')
    .execute();
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
      .where('closing', '=', 0)
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
    .where('closing', '=', 0)
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Adds to the record count of the customer's namespace and holds its row until the unit ends: it cannot be deleted
 * meanwhile.
 * @returns null when the customer has no such namespace
 */
export async function addToNamespaceCount(
  tx: Tx,
  name: string,
  userId: string,
  delta: number,
): Promise<Pick<NamespacesTable, 'id' | 'suspended'> | null> {
  const row = await tx
    .updateTable('namespaces')
    .set({ records_count: sql<number>`records_count + ${delta}` })
    .where('name', '=', name)
    .where('user_id', '=', userId)
    .where('closing', '=', 0)
    .returning(['id', 'suspended'])
    .executeTakeFirst();
  return row ?? null;
}

/** Reads a namespace and holds its row until the unit ends. */
export async function lockNamespace(tx: Tx, id: string, userId: string): Promise<NamespaceRow | null> {
  const row = await tx
    .selectFrom('namespaces')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('closing', '=', 0)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Holds the customer's namespace until the unit ends: it cannot be closed meanwhile. Other units may hold it so too.
 * @returns false when the customer has no such namespace
 */
export async function holdOpen(tx: Tx, name: string, userId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('namespaces')
    .select('id')
    .where('name', '=', name)
    .where('user_id', '=', userId)
    .where('closing', '=', 0)
    .forShare()
    .executeTakeFirst();
  return row !== undefined;
}

/** The flags that only the operator sets. */
export type NamespaceFlags = Partial<Pick<NamespacesTable, 'public_read' | 'suspended'>>;

/** @returns the namespace after the change, or null when there is none of this name */
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
    .where('closing', '=', 0)
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
    .where('namespaces.closing', '=', 0)
    .execute();
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Closes a namespace that the unit has locked, and wakes the loop that deletes its rows. */
export async function closeNamespace(tx: Tx, id: string, now: number): Promise<void> {
  await tx.updateTable('namespaces').set({ closing: 1, updated_at: now }).where('id', '=', id).execute();
  markWork(tx, 'deletions');
}

/** Ids of namespaces that are closed and not yet deleted. */
export async function closingNamespaces(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('namespaces')
    .select('id')
    // Written out, not bound: only then the planner uses the partial index of closing namespaces.
    .where(sql<boolean>`closing = 1`)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Reads a closed namespace and holds its row until the unit ends. */
export async function lockClosing(tx: Tx, id: string): Promise<NamespaceRow | null> {
  const row = await tx
    .selectFrom('namespaces')
    .selectAll()
    .where('id', '=', id)
    .where('closing', '=', 1)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export async function deleteNamespaceRow(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('namespaces').where('id', '=', id).execute();
}
