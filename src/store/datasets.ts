/** Parts of a version: items in the form of the change log, and the octets of the items file. Both are stored deflated. */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { insertText, listStatement, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** The tables of the dataset registry. */

/** `importing`: some of its parts are stored. `served`: all of them are. `retired`: its parts are deleted, or will be. */
export type VersionState = 'importing' | 'served' | 'retired';

/** A version of a dataset. Rows stay when it is retired, so that no other content is published under its number. */
export interface VersionRow {
  id: string;
  slug: string;
  version: string;
  state: VersionState;
  /** JSON of the signed manifest. */
  manifest: string;
  items: number;
  windows: number;
  /** Of the items file. */
  octets: number;
  /** How the files were divided into parts: an import goes on only where it divides them in the same way. */
  layout: number;
  /** Parts stored so far. */
  parts: number;
  /** 1 until the parts of a retired version are deleted. */
  has_parts: number;
  /** Random, of the process that imports; null: none does. */
  lease: string | null;
  /** Any process may take the lease from then on. */
  lease_until: number;
  created_at: number;
  published_at: number | null;
  retired_at: number | null;
}

/** `items`: what the change log and snapshots carry. `lines`: the octets of the items file. */
export type PartKind = 'items' | 'lines';

export interface DatasetPartsTable {
  version_id: string;
  kind: PartKind;
  /** Ascends within a version, over both kinds. */
  part: number;
  /** Deflated (RFC 1951). */
  data: Uint8Array;
}

/** Public keys of attestations. */
export interface KeyRow {
  kid: string;
  /** Base64 of 32 octets. */
  public_key: string;
  /** Unix second of its creation; for the key of another publisher, of its first known attestation. */
  since: number;
  /** Unix second from which a newer key attests, or null. */
  until: number | null;
  /** 1: made by `uqrp dataset keygen`. */
  is_own: number;
}

/** Who imports a version: it may store parts until the lease is taken over, which nobody does before its end. */
export interface ImportLease {
  readonly versionId: string;
  readonly name: string;
}

const FIND_VERSION = statement<{ slug: string; version: string }, VersionRow>(
  'select * from dataset_versions where slug = :slug and version = :version order by created_at, id',
);

/** All rows with this number, also retired ones, the oldest first. */
export function findNumbered(db: Db, slug: string, version: string): Promise<VersionRow[]> {
  return FIND_VERSION.all(db, { slug, version });
}

/** The row that is being imported or served, else the one that was retired last; null when there never was one. */
export async function findVersion(db: Db, slug: string, version: string): Promise<VersionRow | null> {
  const rows = await findNumbered(db, slug, version);
  return rows.find(({ state }) => state !== 'retired') ?? rows.at(-1) ?? null;
}

const LIST_VERSION = listStatement<{ ids: readonly VersionState[]; slug: string | null }, VersionRow>(
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
  return LIST_VERSION.all(db, { ids: states, slug });
}

const RETIRED_AMONG = listStatement<{ ids: readonly string[] }, { id: string }>(
  "select id from dataset_versions where id in (:ids) and state = 'retired'",
  'text',
);

/** Those of these rows that are retired: they stay so, and lose their parts. */
export async function retiredAmong(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await RETIRED_AMONG.all(db, { ids })).map(({ id }) => id));
}

const INSERT_VERSION = statement<VersionRow>(
  insertText(
    'dataset_versions',
    `id, slug, version, state, manifest, items, windows, octets, layout, parts, has_parts, lease, lease_until,
    created_at, published_at, retired_at`,
    'on conflict do nothing',
  ),
);

/** @returns false when a row of this slug and version is being imported or served */
export async function insertVersion(tx: Tx, row: VersionRow): Promise<boolean> {
  return (await INSERT_VERSION.run(tx, row)) > 0;
}

type LeaseParameters = { readonly id: string; readonly name: string };

const TAKE_LEASE = statement<LeaseParameters & { until: number; holder: string | null; holderUntil: number }>(
  `update dataset_versions set lease = :name, lease_until = :until
  where id = :id and state = 'importing' and lease = :holder and lease_until = :holderUntil`,
);

/** Takes the lease over from its holder as it was read. @returns false when the row is not as it was */
export async function takeLease(
  tx: Tx,
  lease: ImportLease,
  until: number,
  holder: Pick<VersionRow, 'lease' | 'lease_until'>,
): Promise<boolean> {
  const { versionId: id, name } = lease;
  const taken = { id, name, until, holder: holder.lease, holderUntil: holder.lease_until };
  return (await TAKE_LEASE.run(tx, taken)) > 0;
}

const ADD_PARTS = statement<LeaseParameters & { stored: number; more: number; until: number }>(
  `update dataset_versions set parts = :stored + :more, lease_until = :until
  where id = :id and lease = :name and state = 'importing' and parts = :stored`,
);

/**
 * Counts parts that this unit stores, and holds the row until the unit ends.
 * @param stored parts that are there already, as whoever imports knows
 * @returns false when the lease was taken over, the version is imported no more, or the database lacks some of these parts
 */
export async function addParts(
  tx: Tx,
  { versionId: id, name }: ImportLease,
  stored: number,
  more: number,
  until: number,
): Promise<boolean> {
  return (await ADD_PARTS.run(tx, { id, name, stored, more, until })) > 0;
}

const END_LEASE = statement<LeaseParameters>(
  'update dataset_versions set lease_until = 0 where id = :id and lease = :name',
);

/** Ends a lease early, so that another import need not wait for it. */
export async function endImportLease(tx: Tx, lease: ImportLease): Promise<void> {
  await END_LEASE.run(tx, { id: lease.versionId, name: lease.name });
}

const SERVE = statement<LeaseParameters & { parts: number; now: number }>(
  `update dataset_versions set state = 'served', published_at = :now, lease = null, lease_until = 0
  where id = :id and lease = :name and state = 'importing' and parts = :parts`,
);

/**
 * @param parts all that the version has
 * @returns false when the lease was taken over, the version is imported no more, or the database lacks some of its parts
 */
export async function markServed(
  tx: Tx,
  { versionId: id, name }: ImportLease,
  parts: number,
  now: number,
): Promise<boolean> {
  return (await SERVE.run(tx, { id, name, parts, now })) > 0;
}

const RETIRE = statement<{ id: string; now: number }, { published_at: number | null }>(
  `update dataset_versions set state = 'retired', retired_at = :now, lease = null, lease_until = 0
  where id = :id and state <> 'retired' returning published_at`,
);

/** From here on nothing is stored for it. @returns whether it was served, or its import was given up; null: it was retired before */
export async function markRetired(
  tx: Tx,
  id: string,
  now: number,
): Promise<{ readonly wasServed: boolean } | null> {
  const row = await RETIRE.first(tx, { id, now });
  return row && { wasServed: row.published_at !== null };
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

export interface Part {
  readonly kind: PartKind;
  readonly part: number;
  /** Deflated. */
  readonly data: Uint8Array;
}

/** The quickest level: a file of items shrinks to a tenth by it, and a higher one takes three times as long. */
const LEVEL = 1;

export function deflatePart(octets: Uint8Array): Buffer {
  return deflateRawSync(octets, { level: LEVEL });
}

export function inflatePart(data: Uint8Array): Buffer {
  return inflateRawSync(data);
}

const INSERT_PART = statement<Part & { versionId: string }>(
  'insert into dataset_parts (version_id, kind, part, data) values (:versionId, :kind, :part, :data)',
);

export async function insertParts(tx: Tx, versionId: string, parts: readonly Part[]): Promise<void> {
  for (const { kind, part, data } of parts) await INSERT_PART.run(tx, { versionId, kind, part, data });
}

const AFTER = statement<{ versionId: string; kind: PartKind; after: number; limit: number }, Part>(
  `select kind, part, data from dataset_parts
  where version_id = :versionId and kind = :kind and part > :after order by part limit :limit`,
);

/** Parts of one kind with a greater number, in order. */
export async function partsAfter(
  db: Db,
  versionId: string,
  kind: PartKind,
  after: number,
  limit: number,
): Promise<readonly Part[]> {
  return AFTER.all(db, { versionId, kind, after, limit });
}

const DELETE = statement<{ versionId: string; limit: number }>(
  `delete from dataset_parts where version_id = :versionId and (kind, part) in (
    select kind, part from dataset_parts where version_id = :versionId order by kind, part limit :limit)`,
);

const RETIRED = statement<object, { id: string }>(
  "select id from dataset_versions where state = 'retired' and has_parts = 1 order by id limit 1",
);

const EMPTIED = statement<{ id: string }>('update dataset_versions set has_parts = 0 where id = :id');

/** Whether a retired version has parts to delete. */
export async function hasRetiredParts(db: Db): Promise<boolean> {
  return (await RETIRED.all(db, {})).length > 0;
}

/** Deletes up to `limit` parts of a retired version. @returns whether there may be more */
export async function deleteRetiredParts(tx: Tx, limit: number): Promise<boolean> {
  const id = (await RETIRED.first(tx, {}))?.id;
  if (id === undefined) return false;
  const deleted = await DELETE.run(tx, { versionId: id, limit });
  if (deleted < limit) await EMPTIED.run(tx, { id });
  return true;
}

const LIST_KEY = statement<object, KeyRow>('select * from dataset_keys order by since, kid');
const FIND_KEY = statement<{ kid: string }, KeyRow>('select * from dataset_keys where kid = :kid');
const PUT = statement<KeyRow>(
  insertText(
    'dataset_keys',
    'kid, public_key, since, until, is_own',
    `on conflict (kid) do update set public_key = excluded.public_key, since = excluded.since,
      until = excluded.until, is_own = excluded.is_own`,
  ),
);

/** By the second of their creation. */
export function listDatasetKeys(db: Db): Promise<KeyRow[]> {
  return LIST_KEY.all(db, {});
}

export function findKey(db: Db, kid: string): Promise<KeyRow | null> {
  return FIND_KEY.first(db, { kid });
}

/** Stores keys, or what is known of them now. @returns those that are new or changed */
export async function putKeys(tx: Tx, keys: readonly KeyRow[]): Promise<KeyRow[]> {
  const changed: KeyRow[] = [];
  for (const key of keys) {
    const known = await findKey(tx, key.kid);
    if (known !== null && !isChanged(known, key)) continue;
    await PUT.run(tx, key);
    changed.push(key);
  }
  return changed;
}

function isChanged(known: KeyRow, key: KeyRow): boolean {
  return known.since !== key.since || known.until !== key.until || known.is_own !== key.is_own;
}
