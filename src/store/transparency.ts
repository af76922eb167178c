/** The tables of the transparency log of datasets: entries with their hashes, roots of full tiles, signed checkpoints. */
import { TILE_LEVELS, TILE_WIDTH } from '../protocol/transparency/tiles.ts';
import type { VersionRow } from './datasets.ts';
import { insertText, listStatement, rowInsert, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** One row, id 1; none before `uqrp log init`. */
export interface LogHead {
  /** Entries so far, signed or not. */
  readonly size: number;
  readonly origin: string;
}

export type EntryKind = 'manifest' | 'key' | 'retirement';

/** An entry before it has a number. */
export interface NewEntry {
  readonly kind: EntryKind;
  /** What the entry is about: `slug@version`, or the id of a key. The last entry of a name says what holds. */
  readonly name: string;
  readonly leaf: Uint8Array;
  readonly hash: Uint8Array;
  /** The row of the version; null for keys, and for entries that were recovered from elsewhere. */
  readonly version_id: string | null;
}

export interface LogEntry extends NewEntry {
  /** From 0, without gaps. */
  readonly idx: number;
}

/** A checkpoint that was signed: of a size there is never another one. */
export interface LogCheckpoint {
  readonly size: number;
  readonly root: Uint8Array;
  /** Signed note; once published, with cosignatures. */
  readonly note: string;
  /** When a quorum had cosigned it last, milliseconds since the epoch; null: not yet. */
  readonly published: number | null;
}

/** Root of 256 hashes of a level: the hash `n` of the next one. Levels are those of tiles. */
export interface TileRoot {
  readonly level: number;
  readonly n: number;
  readonly hash: Uint8Array;
}

const HEAD = 'select size, origin from log_head where id = 1';
const READ_HEAD = statement<object, LogHead>(HEAD);
const HOLD_HEAD = statement<object, LogHead>(HEAD, { lock: 'for update' });

/** Null: there is no log. */
export function readLogHead(db: Db): Promise<LogHead | null> {
  return READ_HEAD.first(db, {});
}

/** Holds the head until the unit ends: numbers are given in the order of commits. After rows of versions, before those of keys and the change log. */
export function holdLogHead(tx: Tx): Promise<LogHead | null> {
  return HOLD_HEAD.first(tx, {});
}

const INSERT_HEAD = statement<{ origin: string }>(
  `insert into log_head (id, size, origin, holder, held_until) values (1, 0, :origin, null, 0)
  on conflict do nothing`,
);

/** @returns false when there is a log */
export async function insertLogHead(tx: Tx, origin: string): Promise<boolean> {
  return (await INSERT_HEAD.run(tx, { origin })) > 0;
}

const MOVE_HEAD = statement<{ size: number }>('update log_head set size = :size where id = 1');

export async function moveLogHead(tx: Tx, size: number): Promise<void> {
  await MOVE_HEAD.run(tx, { size });
}

const TAKE_TURN = statement<{ holder: string; now: number; until: number }>(
  `update log_head set holder = :holder, held_until = :until
  where id = 1 and (holder is null or holder = :holder or held_until <= :now or held_until > :until)`,
);

/** Whether this process is the one that asks and signs until then. It saves work; nothing depends on it. */
export async function takeLogTurn(tx: Tx, holder: string, now: number, until: number): Promise<boolean> {
  return (await TAKE_TURN.run(tx, { holder, now, until })) > 0;
}

const END_TURN = statement<{ holder: string }>(
  'update log_head set holder = null, held_until = 0 where id = 1 and holder = :holder',
);

/** What this process had to do is done: another one, or itself after a restart, need not wait. */
export async function endLogTurn(tx: Tx, holder: string): Promise<void> {
  await END_TURN.run(tx, { holder });
}

const COLUMNS = 'idx, leaf, hash, kind, name, version_id';

const LAST_OF_NAMES = listStatement<{ ids: readonly string[] }, LogEntry>(
  `select ${COLUMNS} from log_entries where idx in (
    select max(idx) from log_entries where name in (:ids) group by name) order by idx`,
  'text',
);

/** The last entry of each of these names that has one. */
export function lastEntriesOf(db: Db, names: readonly string[]): Promise<LogEntry[]> {
  return LAST_OF_NAMES.all(db, { ids: names });
}

const LAST_OF_SLUG = statement<{ from: string; to: string }, LogEntry>(
  `select ${COLUMNS} from log_entries where idx in (
    select max(idx) from log_entries where name >= :from and name < :to group by name) order by idx`,
);

/** The last entry of each version of a dataset. */
export function lastEntriesOfSlug(db: Db, slug: string): Promise<LogEntry[]> {
  // `A` follows `@`.
  return LAST_OF_SLUG.all(db, { from: `${slug}@`, to: `${slug}A` });
}

const FIRST_MANIFESTS = listStatement<{ ids: readonly string[] }, LogEntry>(
  `select ${COLUMNS} from log_entries where idx in (
    select min(idx) from log_entries where name in (:ids) and kind = 'manifest' group by name)`,
  'text',
);

/** The first manifest of each of these versions that has one. */
export function firstManifestsOf(db: Db, names: readonly string[]): Promise<LogEntry[]> {
  return FIRST_MANIFESTS.all(db, { ids: names });
}

/** Of a version `v` whose name is that of the entry. */
const OF_VERSION = "e.name = v.slug || '@' || v.version";

const UNLOGGED = statement<{ limit: number }, VersionRow>(
  `select * from dataset_versions as v where v.published_at is not null and (
    (v.state = 'served' and not exists (
      select 1 from log_entries as e where ${OF_VERSION} and e.kind = 'manifest' and e.version_id = v.id))
    or (v.state = 'retired' and not exists (select 1 from log_entries as e where ${OF_VERSION})
      and not exists (select 1 from dataset_versions as o where o.slug = v.slug and o.version = v.version
        and (o.state = 'served' or (o.published_at is not null and o.retired_at > v.retired_at))))
    or (v.state = 'retired' and exists (
      select 1 from log_entries as e where ${OF_VERSION} and e.kind = 'manifest' and e.version_id = v.id
        and not exists (select 1 from log_entries as l where l.name = e.name and l.idx > e.idx))))
  order by v.published_at, v.id limit :limit`,
);

/**
 * Versions of which the log does not say what they are now: served, or retired. A recovered entry of a retired version tells of a later row than
 * this one: it is not among them.
 */
export function unloggedVersions(db: Db, limit: number): Promise<VersionRow[]> {
  return UNLOGGED.all(db, { limit });
}

const UNSERVED = statement<object, { name: string }>(
  `select e.name from log_entries as e where e.kind = 'manifest'
    and not exists (select 1 from log_entries as l where l.name = e.name and l.idx > e.idx)
    and e.name not in (select slug || '@' || version from dataset_versions where state = 'served')
  order by e.name`,
);

/** Versions, `slug@version`, that the log says are served, and this database does not have: it was restored. */
export async function unservedVersions(db: Db): Promise<string[]> {
  return (await UNSERVED.all(db, {})).map(({ name }) => name);
}

const INSERT_ENTRIES = rowInsert('log_entries', {
  idx: 'bigint',
  leaf: 'bytea',
  hash: 'bytea',
  kind: 'text',
  name: 'text',
  version_id: 'text',
});

export async function insertLogEntries(tx: Tx, entries: readonly LogEntry[]): Promise<void> {
  await INSERT_ENTRIES(
    tx,
    entries.map(({ idx, leaf, hash, kind, name, version_id }) => [idx, leaf, hash, kind, name, version_id]),
  );
}

const LINK_VERSION = statement<{ idx: number; versionId: string }, { proof: string | null }>(
  'update log_entries set version_id = :versionId where idx = :idx and version_id is null returning proof',
);

/**
 * The version that a recovered entry is about was imported again.
 * @returns its proof; null: it has none yet, or belongs to a version already
 */
export async function linkLogEntry(tx: Tx, idx: number, versionId: string): Promise<string | null> {
  return (await LINK_VERSION.first(tx, { idx, versionId }))?.proof ?? null;
}

type Span = { readonly from: number; readonly to: number };

const ENTRIES = statement<Span, LogEntry>(
  `select ${COLUMNS} from log_entries where idx >= :from and idx < :to order by idx`,
);
const HASHES = statement<Span, { hash: Uint8Array }>(
  'select hash from log_entries where idx >= :from and idx < :to order by idx',
);
const TILE_HASHES = statement<Span & { level: number }, { hash: Uint8Array }>(
  'select hash from log_tiles where level = :level and n >= :from and n < :to order by n',
);

/** Entries from one number to before another, in order. */
export function readLogEntries(db: Db, from: number, to: number): Promise<LogEntry[]> {
  return ENTRIES.all(db, { from, to });
}

/** Hashes of a level of tiles: 0 is that of leaves, and those of a further one are roots of full tiles. */
export async function readTileHashes(db: Db, level: number, from: number, to: number): Promise<Uint8Array[]> {
  const rows =
    level === 0
      ? await HASHES.all(db, { from, to })
      : await TILE_HASHES.all(db, { level: level - 1, from, to });
  return rows.map(({ hash }) => hash);
}

const INSERT_TILES = rowInsert('log_tiles', { level: 'bigint', n: 'bigint', hash: 'bytea' });

export async function insertTileRoots(tx: Tx, roots: readonly TileRoot[]): Promise<void> {
  await INSERT_TILES(
    tx,
    roots.map(({ level, n, hash }) => [level, n, hash]),
  );
}

const CUT_ENTRIES = statement<{ size: number }>('delete from log_entries where idx >= :size');
const CUT_TILES = statement<{ level: number; n: number }>(
  'delete from log_tiles where level = :level and n >= :n',
);
/** Levels of tiles of a log of 2^53 entries. */
const LEVELS_MAX = Math.ceil(53 / TILE_LEVELS);

/** Removes entries that were never signed, from this number on, with the roots of tiles above them. */
export async function cutLogEntries(tx: Tx, size: number): Promise<void> {
  await CUT_ENTRIES.run(tx, { size });
  for (let level = 0; level < LEVELS_MAX; level++) {
    await CUT_TILES.run(tx, { level, n: Math.floor(size / TILE_WIDTH ** (level + 1)) });
  }
}

const LAST_SIGNED = statement<object, LogCheckpoint>(
  'select size, root, note, published from log_checkpoints order by size desc limit 1',
);
const LAST_PUBLISHED = statement<object, LogCheckpoint>(
  'select size, root, note, published from log_checkpoints where published is not null order by size desc limit 1',
);
const CHECKPOINT_OF = statement<{ size: number }, LogCheckpoint>(
  'select size, root, note, published from log_checkpoints where size = :size',
);
const INSERT_CHECKPOINT = statement<LogCheckpoint>(
  insertText('log_checkpoints', 'size, root, note, published'),
);
const PUBLISH = statement<{ size: number; note: string; published: number }>(
  'update log_checkpoints set note = :note, published = :published where size = :size',
);

/** The signed checkpoint of the largest size; null: none. */
export function lastSignedCheckpoint(db: Db): Promise<LogCheckpoint | null> {
  return LAST_SIGNED.first(db, {});
}

/** The signed checkpoint of this size; null: none. */
export function signedCheckpointOf(db: Db, size: number): Promise<LogCheckpoint | null> {
  return CHECKPOINT_OF.first(db, { size });
}

/** The newest note that a quorum has cosigned; null: none. */
export function lastPublishedCheckpoint(db: Db): Promise<LogCheckpoint | null> {
  return LAST_PUBLISHED.first(db, {});
}

/** Rejects when there is one of this size: what a log has signed once it never signs differently. */
export async function insertLogCheckpoint(tx: Tx, checkpoint: LogCheckpoint): Promise<void> {
  await INSERT_CHECKPOINT.run(tx, checkpoint);
}

export async function publishLogCheckpoint(
  tx: Tx,
  size: number,
  note: string,
  published: number,
): Promise<void> {
  await PUBLISH.run(tx, { size, note, published });
}

const UNPROVED = statement<{ size: number; limit: number }, LogEntry>(
  `select ${COLUMNS} from log_entries where kind = 'manifest' and proof is null and idx < :size order by idx limit :limit`,
);
const SET_PROOF = statement<{ idx: number; proof: string }>(
  'update log_entries set proof = :proof where idx = :idx and proof is null',
);

/** Manifests below a size that have no proof yet. */
export function unprovedManifests(db: Db, size: number, limit: number): Promise<LogEntry[]> {
  return UNPROVED.all(db, { size, limit });
}

/** @returns false when it has one: a proof never changes */
export async function setLogProof(tx: Tx, idx: number, proof: string): Promise<boolean> {
  return (await SET_PROOF.run(tx, { idx, proof })) > 0;
}

const FIRST_PROOF = statement<{ name: string }, { proof: string }>(
  `select proof from log_entries where name = :name and kind = 'manifest' and proof is not null order by idx limit 1`,
);
const PROOF_OF_VERSION = statement<{ versionId: string; name: string }, { proof: string }>(
  `select proof from log_entries where name = :name and version_id = :versionId and proof is not null
  order by idx desc limit 1`,
);

/** The tlog-proof of a version, `slug@version`, also of a retired one; null: not proved yet, or unknown. */
export async function findLogProof(db: Db, name: string): Promise<string | null> {
  return (await FIRST_PROOF.first(db, { name }))?.proof ?? null;
}

/** The tlog-proof of this row of a version, which nodes keep beside its manifest; null: none yet. */
export async function proofOfVersion(db: Db, name: string, versionId: string): Promise<string | null> {
  return (await PROOF_OF_VERSION.first(db, { name, versionId }))?.proof ?? null;
}
