import type { Insertable, Selectable } from 'kysely';
import { statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';
import type { DatasetVersionsTable, VersionState } from './tables.ts';

export type VersionRow = Selectable<DatasetVersionsTable>;

/** Who imports a version: it may store parts until the lease is taken over, which nobody does before its end. */
export interface Lease {
  readonly versionId: string;
  readonly name: string;
}

/** The row that is being imported or served, else the one that was retired last; null when there never was one. */
export async function findVersion(db: Db, slug: string, version: string): Promise<VersionRow | null> {
  const rows = await db
    .selectFrom('dataset_versions')
    .selectAll()
    .where('slug', '=', slug)
    .where('version', '=', version)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.find(({ state }) => state !== 'retired') ?? rows.at(-1) ?? null;
}

/** Rows of these states, of all slugs or of one, by slug and time. */
export async function listVersions(
  db: Db,
  states: readonly VersionState[],
  slug: string | null = null,
): Promise<VersionRow[]> {
  let query = db.selectFrom('dataset_versions').selectAll().where('state', 'in', states);
  if (slug !== null) query = query.where('slug', '=', slug);
  return query.orderBy('slug').orderBy('created_at').orderBy('id').execute();
}

/** @returns false when a row of this slug and version is being imported or served */
export async function insertVersion(tx: Tx, row: Insertable<DatasetVersionsTable>): Promise<boolean> {
  const inserted = await tx
    .insertInto('dataset_versions')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Takes the lease over from its holder as it was read. @returns false when the row is not as it was */
export async function takeLease(
  tx: Tx,
  lease: Lease,
  until: number,
  holder: Pick<VersionRow, 'lease' | 'lease_until'>,
): Promise<boolean> {
  const row = await tx
    .updateTable('dataset_versions')
    .set({ lease: lease.name, lease_until: until })
    .where('id', '=', lease.versionId)
    .where('state', '=', 'importing')
    .where('lease', '=', holder.lease)
    .where('lease_until', '=', holder.lease_until)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Counts parts that this unit stores, and holds the row until the unit ends.
 * @returns false when the lease was taken over, or the version is imported no more
 */
export async function addParts(tx: Tx, lease: Lease, parts: number, until: number): Promise<boolean> {
  const row = await tx
    .updateTable('dataset_versions')
    .set((eb) => ({ parts: eb('parts', '+', parts), lease_until: until }))
    .where('id', '=', lease.versionId)
    .where('lease', '=', lease.name)
    .where('state', '=', 'importing')
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Ends a lease early, so that another import need not wait for it. */
export async function endLease(tx: Tx, lease: Lease): Promise<void> {
  await tx
    .updateTable('dataset_versions')
    .set({ lease_until: 0 })
    .where('id', '=', lease.versionId)
    .where('lease', '=', lease.name)
    .execute();
}

/** @returns false when the lease was taken over, or the version is imported no more */
export async function markServed(tx: Tx, lease: Lease, now: number): Promise<boolean> {
  const row = await tx
    .updateTable('dataset_versions')
    .set({ state: 'served', published_at: now, lease: null, lease_until: 0 })
    .where('id', '=', lease.versionId)
    .where('lease', '=', lease.name)
    .where('state', '=', 'importing')
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** From here on nothing is stored for it. @returns false when it was retired before */
export async function markRetired(tx: Tx, id: string, now: number): Promise<boolean> {
  const row = await tx
    .updateTable('dataset_versions')
    .set({ state: 'retired', retired_at: now, lease: null, lease_until: 0 })
    .where('id', '=', id)
    .where('state', '!=', 'retired')
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

const ABANDONED = statement<{ before: number }, VersionRow>(
  "select * from dataset_versions where state = 'importing' and lease_until < :before",
);

/** Imports whose lease ended before this time: nobody has gone on with them. */
export async function abandonedVersions(db: Db, before: number): Promise<VersionRow[]> {
  return (await ABANDONED(db, { before })).rows;
}

/** Slugs of which a version is served, after this one, in the order of their octets. */
export async function servedSlugs(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('dataset_versions')
    .select('slug')
    .distinct()
    .where('state', '=', 'served')
    .where('slug', '>', after)
    .orderBy('slug')
    .limit(limit)
    .execute();
  return rows.map(({ slug }) => slug);
}
