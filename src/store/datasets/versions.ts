import { insertText, listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';
import type { DatasetVersionsTable, VersionState } from './tables.ts';

export type VersionRow = DatasetVersionsTable;

/** Who imports a version: it may store parts until the lease is taken over, which nobody does before its end. */
export interface Lease {
  readonly versionId: string;
  readonly name: string;
}

const FIND = statement<{ slug: string; version: string }, VersionRow>(
  'select * from dataset_versions where slug = :slug and version = :version order by created_at, id',
);

/** The row that is being imported or served, else the one that was retired last; null when there never was one. */
export async function findVersion(db: Db, slug: string, version: string): Promise<VersionRow | null> {
  const rows = await FIND.all(db, { slug, version });
  return rows.find(({ state }) => state !== 'retired') ?? rows.at(-1) ?? null;
}

const LIST = listStatement<{ ids: readonly VersionState[]; slug: string | null }, VersionRow>(
  `select * from dataset_versions where state in (:ids) and (cast(:slug as text) is null or slug = :slug)
  order by slug, created_at, id`,
  'text',
);

/** Rows of these states, of all slugs or of one, by slug and time. */
export function listVersions(
  db: Db,
  states: readonly VersionState[],
  slug: string | null = null,
): Promise<VersionRow[]> {
  return LIST.all(db, { ids: states, slug });
}

const INSERT = statement<VersionRow>(
  insertText(
    'dataset_versions',
    `id, slug, version, state, manifest, items, windows, octets, layout, parts, has_parts, lease, lease_until,
    created_at, published_at, retired_at`,
    'on conflict do nothing',
  ),
);

/** @returns false when a row of this slug and version is being imported or served */
export async function insertVersion(tx: Tx, row: VersionRow): Promise<boolean> {
  return (await INSERT.run(tx, row)) > 0;
}

type LeaseParameters = { readonly id: string; readonly name: string };

const TAKE_LEASE = statement<LeaseParameters & { until: number; holder: string | null; holderUntil: number }>(
  `update dataset_versions set lease = :name, lease_until = :until
  where id = :id and state = 'importing' and lease = :holder and lease_until = :holderUntil`,
);

/** Takes the lease over from its holder as it was read. @returns false when the row is not as it was */
export async function takeLease(
  tx: Tx,
  lease: Lease,
  until: number,
  holder: Pick<VersionRow, 'lease' | 'lease_until'>,
): Promise<boolean> {
  const { versionId: id, name } = lease;
  const taken = { id, name, until, holder: holder.lease, holderUntil: holder.lease_until };
  return (await TAKE_LEASE.run(tx, taken)) > 0;
}

const ADD_PARTS = statement<LeaseParameters & { parts: number; until: number }>(
  `update dataset_versions set parts = parts + :parts, lease_until = :until
  where id = :id and lease = :name and state = 'importing'`,
);

/**
 * Counts parts that this unit stores, and holds the row until the unit ends.
 * @returns false when the lease was taken over, or the version is imported no more
 */
export async function addParts(tx: Tx, lease: Lease, parts: number, until: number): Promise<boolean> {
  return (await ADD_PARTS.run(tx, { id: lease.versionId, name: lease.name, parts, until })) > 0;
}

const END_LEASE = statement<LeaseParameters>(
  'update dataset_versions set lease_until = 0 where id = :id and lease = :name',
);

/** Ends a lease early, so that another import need not wait for it. */
export async function endLease(tx: Tx, lease: Lease): Promise<void> {
  await END_LEASE.run(tx, { id: lease.versionId, name: lease.name });
}

const SERVE = statement<LeaseParameters & { now: number }>(
  `update dataset_versions set state = 'served', published_at = :now, lease = null, lease_until = 0
  where id = :id and lease = :name and state = 'importing'`,
);

/** @returns false when the lease was taken over, or the version is imported no more */
export async function markServed(tx: Tx, lease: Lease, now: number): Promise<boolean> {
  return (await SERVE.run(tx, { id: lease.versionId, name: lease.name, now })) > 0;
}

const RETIRE = statement<{ id: string; now: number }>(
  `update dataset_versions set state = 'retired', retired_at = :now, lease = null, lease_until = 0
  where id = :id and state <> 'retired'`,
);

/** From here on nothing is stored for it. @returns false when it was retired before */
export async function markRetired(tx: Tx, id: string, now: number): Promise<boolean> {
  return (await RETIRE.run(tx, { id, now })) > 0;
}

const ABANDONED = statement<{ before: number }, VersionRow>(
  "select * from dataset_versions where state = 'importing' and lease_until < :before",
);

/** Imports whose lease ended before this time: nobody has gone on with them. */
export async function abandonedVersions(db: Db, before: number): Promise<VersionRow[]> {
  return ABANDONED.all(db, { before });
}

const SERVED_SLUGS = statement<{ after: string; limit: number }, { slug: string }>(
  "select distinct slug from dataset_versions where state = 'served' and slug > :after order by slug limit :limit",
);

/** Slugs of which a version is served, after this one, in the order of their octets. */
export async function servedSlugs(db: Db, after: string, limit: number): Promise<string[]> {
  return (await SERVED_SLUGS.all(db, { after, limit })).map(({ slug }) => slug);
}
