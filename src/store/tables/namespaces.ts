import { type Insertable, type Selectable, sql } from 'kysely';
import { listStatement } from '../engine/list-statement.ts';
import { statement } from '../engine/statement.ts';
import { markWork } from '../engine/unit-marks.ts';
import type { NamespacesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';
import { firstOwner } from './users.ts';

export type NamespaceRow = Selectable<NamespacesTable>;

// Only the functions at the end of this file find a namespace that is closing.

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

const COLUMNS =
  'id, name, customer_id, public_read, suspended, max_ttl, records_count, closing, created_at, updated_at';

const FIND = statement<{ id: string; customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where id = :id and customer_id = :customerId and closing = 0`,
);

export async function findNamespace(db: Db, id: string, customerId: string): Promise<NamespaceRow | null> {
  return (await FIND(db, { id, customerId })).rows[0] ?? null;
}

const LIST = statement<{ customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where customer_id = :customerId and closing = 0 order by name`,
);

/** A customer's namespaces, by name, in the order of its bytes. */
export async function listNamespaces(db: Db, customerId: string): Promise<NamespaceRow[]> {
  return (await LIST(db, { customerId })).rows;
}

const FIND_BY_NAME = listStatement<{ ids: readonly string[]; customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where name in (:ids) and customer_id = :customerId and closing = 0`,
  'text',
);

/** Those of `names` that the customer owns. */
export async function findNamespacesByName(
  db: Db,
  names: readonly string[],
  customerId: string,
): Promise<Map<string, NamespaceRow>> {
  if (names.length === 0) return new Map();
  const { rows } = await FIND_BY_NAME(db, { ids: names, customerId });
  return new Map(rows.map((row) => [row.name, row]));
}

export async function countNamespaces(db: Db, customerId: string): Promise<number> {
  const { count } = await db
    .selectFrom('namespaces')
    .select((namespace) => namespace.fn.countAll<number>().as('count'))
    .where('customer_id', '=', customerId)
    .where('closing', '=', 0)
    .executeTakeFirstOrThrow();
  return count;
}

/** What a write to a namespace needs to know of it. */
type CountedNamespace = Pick<NamespacesTable, 'id' | 'suspended'>;

const ADD_RECORDS = statement<{ name: string; customerId: string; delta: number }, CountedNamespace>(
  `update namespaces set records_count = records_count + :delta
  where name = :name and customer_id = :customerId and closing = 0 returning id, suspended`,
);

/**
 * Adds to the record count of the customer's namespace and holds its row until the unit ends: it cannot be deleted meanwhile.
 * @returns null when the customer has no such namespace
 */
export async function addToNamespaceCount(
  tx: Tx,
  name: string,
  customerId: string,
  delta: number,
): Promise<CountedNamespace | null> {
  const { rows } = await ADD_RECORDS(tx, { name, customerId, delta });
  return rows[0] ?? null;
}

/** Reads a namespace and holds its row until the unit ends. */
export async function lockNamespace(tx: Tx, id: string, customerId: string): Promise<NamespaceRow | null> {
  const row = await tx
    .selectFrom('namespaces')
    .selectAll()
    .where('id', '=', id)
    .where('customer_id', '=', customerId)
    .where('closing', '=', 0)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

const HOLD_OPEN = statement<{ name: string; customerId: string }, { id: string }>(
  'select id from namespaces where name = :name and customer_id = :customerId and closing = 0',
  { lock: 'for share' },
);

/**
 * Holds the customer's namespace until the unit ends: it cannot be closed meanwhile. Other units may hold it so too.
 * @returns false when the customer has no such namespace
 */
export async function holdOpen(tx: Tx, name: string, customerId: string): Promise<boolean> {
  const { rows } = await HOLD_OPEN(tx, { name, customerId });
  return rows.length > 0;
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

const SET_MAX_TTL = statement<{ id: string; maxTtl: number; now: number }, NamespaceRow>(
  `update namespaces set max_ttl = :maxTtl, updated_at = case when updated_at >= :now then updated_at + 1 else :now end
  where id = :id returning *`,
);

/** Of a namespace that the unit has locked. @param maxTtl seconds */
export async function setMaxTtl(tx: Tx, id: string, maxTtl: number, now: number): Promise<NamespaceRow> {
  const [row] = (await SET_MAX_TTL(tx, { id, maxTtl, now })).rows;
  if (row === undefined) throw new Error('a locked namespace is gone');
  return row;
}

/** Every namespace with the mail address of its customer's first owner, by name in byte order on either engine. */
export async function listNamespacesWithOwners(db: Db): Promise<(NamespaceRow & { email: string })[]> {
  const rows = await db
    .selectFrom('namespaces')
    .selectAll('namespaces')
    .select((namespace) => firstOwner(namespace.ref('namespaces.customer_id')).as('email'))
    .where('namespaces.closing', '=', 0)
    .execute();
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Closes a namespace that the unit has locked, and wakes the loop that deletes its rows. */
export async function closeNamespace(tx: Tx, id: string, now: number): Promise<void> {
  await tx.updateTable('namespaces').set({ closing: 1, updated_at: now }).where('id', '=', id).execute();
  markWork(tx, 'deletions');
}

const CLOSING = statement<{ limit: number }, { id: string }>(
  'select id from namespaces where closing = 1 order by id limit :limit',
);

/** Ids of namespaces that are closed and not yet deleted. */
export async function closingNamespaces(db: Db, limit: number): Promise<string[]> {
  const { rows } = await CLOSING(db, { limit });
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

/** A namespace of a closed customer that is not closed yet, held until the unit ends. */
export async function lockNextOpenNamespace(tx: Tx, customerId: string): Promise<NamespaceRow | null> {
  const row = await tx
    .selectFrom('namespaces')
    .selectAll()
    .where('customer_id', '=', customerId)
    .where('closing', '=', 0)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}
