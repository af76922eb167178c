/** Histories of namespaces, and the replaced values in them. Payloads are encrypted (`control/history/keep.ts`). */
import { listStatement, rowInsert, statement } from './engine/statement.ts';
import type { RecordPosition } from './record-listing.ts';
import type { Db, Tx } from './store.ts';

/**
 * A history lasts from the moment its owner switches it on until its end. Its versions belong to it and not to the namespace: those of an
 * ended one are deleted in the background, also while the namespace keeps another.
 */
export interface HistoryRow {
  /** Random, 48 bits. */
  readonly id: number;
  readonly namespace_id: string;
  readonly customer_id: string;
  /** Rows that hold a replaced or deleted value, and rows that say that there was none. */
  readonly versions: number;
  readonly creations: number;
  /** From this time on no version was dropped. Milliseconds since the epoch. */
  readonly whole_since: number;
  /** Not 0: the owner lowered the number of versions, and records may have more. */
  readonly trim: number;
  /** 0, or 1: its key is destroyed; 2: and it is out of the database file. */
  readonly ended: number;
}

/** What a write replaced. Version and key are of the record's key, over its deletions. */
export interface KeptVersion {
  readonly history_id: number;
  readonly key: string;
  /** Of the value; with the cause `create` that of the last value before. */
  readonly version: number;
  /** How the value ended. `create`: there was none. */
  readonly cause: 'write' | 'delete' | 'create';
  readonly valid_from: number;
  readonly valid_to: number;
  /** The last change of the write that ended it, and how many rows of the history that write made. */
  readonly write_seq: number;
  readonly write_rows: number;
  readonly content_type: string;
  readonly ttl_seconds: number;
  readonly expires_at: number | null;
  /** Of the payload. */
  readonly octets: number;
  /** Encrypted; null: there was no value, or it has expired. */
  readonly data: Uint8Array | null;
  /** As of a record. */
  readonly encoding: 'plain' | null;
  /**
   * The place of the record in listings, where its end leaves no later row: it was deleted, or replaced by a value that may expire. Null
   * elsewhere, so that an ordinary write adds nothing to the index of these two.
   */
  readonly created_at: number | null;
  readonly record_id: string | null;
}

const COLUMNS =
  'history_id, key, version, cause, valid_from, valid_to, write_seq, write_rows, content_type, ttl_seconds, expires_at, octets, data, encoding, created_at, record_id';

const INSERT_HISTORY = statement<Pick<HistoryRow, 'id' | 'namespace_id' | 'customer_id' | 'whole_since'>>(
  `insert into histories (id, namespace_id, customer_id, versions, creations, whole_since, trim, ended)
  values (:id, :namespace_id, :customer_id, 0, 0, :whole_since, 0, 0)`,
);
const INSERT_KEY = statement<{ id: number; secret: Uint8Array }>(
  'insert into history_keys (history_id, secret) values (:id, :secret)',
);

/** @param secret the encrypted key of its payloads */
export async function insertHistory(
  tx: Tx,
  history: Pick<HistoryRow, 'id' | 'namespace_id' | 'customer_id' | 'whole_since'>,
  secret: Uint8Array,
): Promise<void> {
  await INSERT_HISTORY.run(tx, history);
  await INSERT_KEY.run(tx, { id: history.id, secret });
}

const DELETE_KEY = statement<{ id: number }>('delete from history_keys where history_id = :id');
const END = statement<{ id: number }>('update histories set ended = 1 where id = :id');

/** Destroys the key of a history, in a unit that holds its namespace. Upkeep deletes the rows. */
export async function endHistory(tx: Tx, id: number): Promise<void> {
  await DELETE_KEY.run(tx, { id });
  await END.run(tx, { id });
}

const TRIM = statement<{ id: number; at: number }>('update histories set trim = :at where id = :id');

/** Lets upkeep look for records that have more versions than the owner now wants. */
export async function trimHistory(tx: Tx, id: number, at: number): Promise<void> {
  await TRIM.run(tx, { id, at });
}

const FIND_KEY = statement<{ id: number }, { secret: Uint8Array }>(
  'select secret from history_keys where history_id = :id',
);

/** The encrypted key of a history; null when it has ended. */
export async function historySecret(db: Db, id: number): Promise<Uint8Array | null> {
  return (await FIND_KEY.first(db, { id }))?.secret ?? null;
}

const FIND_HISTORY = statement<{ id: number }, HistoryRow>(
  'select id, namespace_id, customer_id, versions, creations, whole_since, trim, ended from histories where id = :id',
);

export function findHistory(db: Db, id: number): Promise<HistoryRow | null> {
  return FIND_HISTORY.first(db, { id });
}

const SUM = listStatement<{ ids: readonly string[] }, { versions: number | null }>(
  'select sum(versions) as versions from histories where namespace_id in (:ids) and ended = 0',
  'text',
);

/** Versions that namespaces keep. */
export async function countVersions(db: Db, namespaceIds: readonly string[]): Promise<number> {
  if (namespaceIds.length === 0) return 0;
  // PostgreSQL sums to a type that its driver gives as text.
  return Number((await SUM.first(db, { ids: namespaceIds }))?.versions ?? 0);
}

const INSERT_VERSIONS = rowInsert('record_versions', {
  history_id: 'bigint',
  key: 'text',
  version: 'bigint',
  cause: 'text',
  valid_from: 'bigint',
  valid_to: 'bigint',
  write_seq: 'bigint',
  write_rows: 'bigint',
  content_type: 'text',
  ttl_seconds: 'bigint',
  expires_at: 'bigint',
  octets: 'bigint',
  data: 'bytea',
  encoding: 'text',
  created_at: 'bigint',
  record_id: 'text',
});

const valuesOf = (row: KeptVersion) => [
  row.history_id,
  row.key,
  row.version,
  row.cause,
  row.valid_from,
  row.valid_to,
  row.write_seq,
  row.write_rows,
  row.content_type,
  row.ttl_seconds,
  row.expires_at,
  row.octets,
  row.data,
  row.encoding,
  row.created_at,
  row.record_id,
];

interface Counted {
  readonly versions: number;
  readonly creations: number;
  /** Of the versions that were dropped, the time at which the last one ended; 0: none was. */
  readonly droppedTo: number;
}

const COUNT = statement<{ id: number } & Counted>(
  `update histories set versions = versions + :versions, creations = creations + :creations,
    whole_since = case when whole_since < :droppedTo then :droppedTo else whole_since end where id = :id`,
);

/** Adds to the counts of a history what a unit added or dropped. */
export async function countInHistory(tx: Tx, id: number, counted: Counted): Promise<void> {
  await COUNT.run(tx, { id, ...counted });
}

type DroppedVersion = Pick<KeptVersion, 'cause' | 'valid_to'>;

/** What the counts of a history lose by rows that were deleted. */
export function countDropped(rows: readonly DroppedVersion[]): Counted {
  const values = rows.filter(({ cause }) => cause !== 'create');
  const droppedTo = values.reduce((last, { valid_to }) => Math.max(last, valid_to), 0);
  return { versions: -values.length, creations: values.length - rows.length, droppedTo };
}

/** Adds rows of one unit, and drops what is over the number of versions of a record. @param drop highest version to drop, by key */
export async function addVersions(
  tx: Tx,
  id: number,
  rows: readonly KeptVersion[],
  drop: ReadonlyMap<string, number>,
): Promise<void> {
  await INSERT_VERSIONS(tx, rows.map(valuesOf));
  const gone = countDropped(await dropUpTo(tx, id, drop));
  const creations = rows.filter(({ cause }) => cause === 'create').length;
  await countInHistory(tx, id, {
    versions: rows.length - creations + gone.versions,
    creations: creations + gone.creations,
    droppedTo: gone.droppedTo,
  });
}

/** CROSS JOIN holds SQLite to the order of the tables, so that each key is looked up in the index. */
const DROP = statement<{ id: number; last: string }, DroppedVersion>(
  `delete from record_versions where rowid in (
    select v.rowid from json_each(:last) as latest cross join record_versions as v
    where v.history_id = :id and v.key = latest.key and v.version <= latest.value) returning cause, valid_to`,
  {
    postgres: `delete from record_versions as v using json_each_text(cast(:last as json)) as latest
    where v.history_id = :id and v.key = latest.key and v.version <= cast(latest.value as bigint)
    returning v.cause, v.valid_to`,
  },
);

/** Deletes the versions of each key up to a number. */
export async function dropUpTo(
  tx: Tx,
  id: number,
  last: ReadonlyMap<string, number>,
): Promise<readonly DroppedVersion[]> {
  if (last.size === 0) return [];
  return DROP.all(tx, { id, last: JSON.stringify(Object.fromEntries(last)) });
}

/** What a history knows last of a key. */
interface LastOfKey {
  readonly key: string;
  /** The highest number that a value had, the present one included: one that ended by a write, or was made, has a next one. */
  readonly version: number;
  /** `rankOf` the last row. */
  readonly rank: number;
}

/** The order of the rows of a key in time. The row of a creation has the number of the value before it. */
export function rankOf({ version, cause }: Pick<KeptVersion, 'version' | 'cause'>): number {
  return version * 2 + (cause === 'create' ? 1 : 0);
}

const LAST_OF_KEYS = listStatement<{ historyId: number; ids: readonly string[] }, LastOfKey>(
  `select key, max(case when cause = 'delete' then version else version + 1 end) as version,
    max(version * 2 + case when cause = 'create' then 1 else 0 end) as rank
  from record_versions where history_id = :historyId and key in (:ids) group by key`,
  'text',
);

/** Of those keys that the history has a row of. */
export async function lastOfKeys(
  db: Db,
  historyId: number,
  keys: readonly string[],
): Promise<Map<string, LastOfKey>> {
  if (keys.length === 0) return new Map();
  const rows = await LAST_OF_KEYS.all(db, { historyId, ids: keys });
  return new Map(rows.map((row) => [row.key, row]));
}

const LIST = statement<{ historyId: number; key: string; before: number; limit: number }, KeptVersion>(
  `select ${COLUMNS} from record_versions
  where history_id = :historyId and key = :key and version < :before and cause <> 'create'
  order by version desc limit :limit`,
);

/** Versions of a key, newest first. @param before only lower numbers */
export function listKeptVersions(
  db: Db,
  historyId: number,
  key: string,
  before: number,
  limit: number,
): Promise<KeptVersion[]> {
  return LIST.all(db, { historyId, key, before, limit });
}

const FIND = statement<{ historyId: number; key: string; version: number }, KeptVersion>(
  `select ${COLUMNS} from record_versions
  where history_id = :historyId and key = :key and version = :version and cause <> 'create'`,
);

export function findKeptVersion(
  db: Db,
  historyId: number,
  key: string,
  version: number,
): Promise<KeptVersion | null> {
  return FIND.first(db, { historyId, key, version });
}

const OF_WRITE = statement<{ historyId: number; seq: number; limit: number }, KeptVersion>(
  `select ${COLUMNS} from record_versions where history_id = :historyId and write_seq = :seq order by key limit :limit`,
);

/** What a write replaced, deleted and created, by key. */
export function versionsOfWrite(
  db: Db,
  historyId: number,
  seq: number,
  limit: number,
): Promise<KeptVersion[]> {
  return OF_WRITE.all(db, { historyId, seq, limit });
}

const ERASE = statement<{ historyId: number; key: string }, DroppedVersion>(
  'delete from record_versions where history_id = :historyId and key = :key returning cause, valid_to',
);

/** Deletes every version of a key. @param until the export of an earlier time than this is no longer whole. @returns versions deleted */
export async function eraseVersionsOf(tx: Tx, historyId: number, key: string, until = 0): Promise<number> {
  const gone = countDropped(await ERASE.all(tx, { historyId, key }));
  const droppedTo = Math.max(until, gone.droppedTo);
  if (droppedTo > 0) await countInHistory(tx, historyId, { ...gone, droppedTo });
  return -gone.versions;
}

const AT = listStatement<{ historyId: number; at: number; ids: readonly string[] }, KeptVersion>(
  `select ${COLUMNS} from record_versions
  where history_id = :historyId and key in (:ids) and valid_from <= :at and valid_to > :at and cause <> 'create'
  order by key, version`,
  'text',
);

/** The versions of keys that were in force at a time. */
export function versionsAt(
  db: Db,
  historyId: number,
  keys: readonly string[],
  at: number,
): Promise<KeptVersion[]> {
  return keys.length === 0 ? Promise.resolve([]) : AT.all(db, { historyId, at, ids: keys });
}

/** Rows that one statement of an export examines and holds. */
const SPAN = 200;

/** A record that was there at a time and is not any more. */
export interface GoneRecord {
  readonly key: string;
  readonly created_at: number;
  readonly record_id: string;
}

interface Between {
  readonly historyId: number;
  readonly from: number;
  readonly fromId: string;
  readonly to: number;
  readonly toId: string;
}

const BETWEEN = `history_id = :historyId and record_id is not null
    and (created_at, record_id) > (:from, :fromId) and (created_at, record_id) <= (:to, :toId)`;

const SPAN_END = statement<Between, Omit<GoneRecord, 'key'>>(
  `select created_at, record_id from record_versions where ${BETWEEN}
  order by created_at, record_id limit 1 offset ${SPAN - 1}`,
);

/**
 * A key that was deleted and made again has one record at a time, unless a clock was set back: then the later. `+ 0` keeps SQLite from
 * reading the index of places instead of the few rows of the key.
 */
const GONE_AT = statement<Between & { at: number; now: number }, GoneRecord>(
  `select distinct v.key, v.created_at, v.record_id from record_versions as v
  where ${BETWEEN} and v.created_at <= :at and v.valid_to > :at
    and not exists (select 1 from records as r where r.key = v.key and r.created_at <= :at
      and (r.expires_at is null or r.expires_at > :now))
    and not exists (select 1 from record_versions as w where w.history_id = :historyId and w.key = v.key
      and w.version > v.version and w.record_id <> v.record_id and w.created_at + 0 <= :at and w.valid_to > :at)
  order by v.created_at, v.record_id`,
);

/**
 * Records that were there at a time and are not any more, of a part of the listing and in its order, in spans of bounded work.
 * @param after null: from the beginning. @param until included
 */
export async function* goneRecords(
  db: Db,
  historyId: number,
  at: number,
  { after, until }: { readonly after: RecordPosition | null; readonly until: RecordPosition },
  clock: () => number,
): AsyncGenerator<readonly GoneRecord[]> {
  let start = { from: after?.createdAt ?? -1, fromId: after?.id ?? '' };
  const end = { to: until.createdAt, toId: until.id };
  for (;;) {
    const last = await SPAN_END.first(db, { historyId, ...start, ...end });
    const span = last === null ? end : { to: last.created_at, toId: last.record_id };
    const rows = await GONE_AT.all(db, { historyId, ...start, ...span, at, now: clock() });
    if (rows.length > 0) yield rows;
    if (last === null) return;
    start = { from: span.to, fromId: span.toId };
  }
}
