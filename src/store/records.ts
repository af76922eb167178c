import { lockCustomers } from './accounts.ts';
import { insertText, listStatement, rowInsert, statement } from './engine/statement.ts';
import type { NamespaceRow } from './namespaces.ts';
import type { Db, Tx } from './store.ts';

export interface RecordsTable {
  id: string;
  namespace_id: string;
  /** Unique, lower case. */
  key: string;
  resource: string;
  version: string;
  data: Uint8Array;
  content_type: string;
  ttl_seconds: number;
  expires_at: number | null;
  created_at: number;
  updated_at: number;
  /** Number of its value: it grows with each write. Histories count on (`versions.ts`). */
  revision: number;
  /** How DNS answers carry `data`; null: in Base64. */
  encoding: 'plain' | null;
}

/** A record with the name of its namespace. */
export interface RecordRow extends RecordsTable {
  readonly namespace: string;
}

/** A record of the customer's, and whether the operator has suspended its namespace: 1 or 0. */
export interface OwnRecordRow extends RecordRow {
  readonly suspended: number;
}

/** The fields of an existing record that a bulk write needs. */
export type KnownRecord = Pick<
  RecordsTable,
  'id' | 'namespace_id' | 'key' | 'expires_at' | 'created_at' | 'updated_at' | 'revision'
>;

export const RECORD_COLUMNS =
  'id, namespace_id, key, resource, version, data, content_type, ttl_seconds, expires_at, created_at, updated_at, revision, encoding';

const INSERT_RECORD = statement<RecordsTable, { id: string }>(
  insertText('records', RECORD_COLUMNS, 'on conflict (key) do nothing returning id'),
);

/** @returns false when the key is taken, also by an expired record that the sweeper has not deleted */
export async function insertRecord(tx: Tx, record: RecordsTable): Promise<boolean> {
  const rows = await INSERT_RECORD.all(tx, record);
  return rows.length > 0;
}

const UPSERT_RECORDS = rowInsert(
  'records',
  {
    id: 'text',
    namespace_id: 'text',
    key: 'text',
    resource: 'text',
    version: 'text',
    data: 'bytea',
    content_type: 'text',
    ttl_seconds: 'bigint',
    expires_at: 'bigint',
    created_at: 'bigint',
    updated_at: 'bigint',
    revision: 'bigint',
    encoding: 'text',
  },
  `on conflict (key) do update set data = excluded.data, content_type = excluded.content_type,
    ttl_seconds = excluded.ttl_seconds, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
    revision = excluded.revision, encoding = excluded.encoding`,
);

/**
 * Inserts records, or replaces what is under their keys; a replaced record keeps its id and `created_at`.
 * @param records of different keys
 */
export async function upsertRecords(tx: Tx, records: readonly RecordsTable[]): Promise<void> {
  const rows = records.map((row) => [
    row.id,
    row.namespace_id,
    row.key,
    row.resource,
    row.version,
    row.data,
    row.content_type,
    row.ttl_seconds,
    row.expires_at,
    row.created_at,
    row.updated_at,
    row.revision,
    row.encoding,
  ]);
  await UPSERT_RECORDS(tx, rows);
}

interface OwnRecordParameters {
  readonly id: string;
  readonly customerId: string;
  readonly now: number;
}

const OWN_RECORD = `select r.id, r.namespace_id, r.key, r.resource, r.version, r.data, r.content_type, r.ttl_seconds,
    r.expires_at, r.created_at, r.updated_at, r.revision, r.encoding, n.name as namespace, n.suspended
  from records as r join namespaces as n on n.id = r.namespace_id
  where r.id = :id and (r.expires_at is null or r.expires_at > :now) and n.customer_id = :customerId and n.closing = 0`;

const FIND_RECORD = statement<OwnRecordParameters, OwnRecordRow>(OWN_RECORD);
const HOLD_RECORD = statement<OwnRecordParameters, OwnRecordRow>(OWN_RECORD, { lock: 'for update of r' });

/** One of the customer's records, unless it is past its expiry at `now`. */
export async function findRecord(
  db: Db,
  id: string,
  customerId: string,
  now: number,
): Promise<OwnRecordRow | null> {
  return FIND_RECORD.first(db, { id, customerId, now });
}

/** As `findRecord`; it locks the record's row until the unit ends. */
export async function holdRecord(
  tx: Tx,
  id: string,
  customerId: string,
  now: number,
): Promise<OwnRecordRow | null> {
  return HOLD_RECORD.first(tx, { id, customerId, now });
}

const HOLD_KNOWN = listStatement<{ ids: readonly string[] }, KnownRecord>(
  'select id, namespace_id, key, expires_at, created_at, updated_at, revision from records where key in (:ids)',
  'text',
  { lock: 'for update' },
);

/** Finds the records under `keys`, of any customer and expired ones included. It locks their rows until the unit ends. */
export async function holdKnownRecords(tx: Tx, keys: readonly string[]): Promise<Map<string, KnownRecord>> {
  if (keys.length === 0) return new Map();
  const rows = await HOLD_KNOWN.all(tx, { ids: keys });
  return new Map(rows.map((row) => [row.key, row]));
}

const READ_VALUES = listStatement<{ ids: readonly string[] }, RecordsTable>(
  `select ${RECORD_COLUMNS} from records where key in (:ids)`,
  'text',
);

/** The records under `keys`, by key. For namespaces with history: what a bulk write is about to replace. */
export async function readRecords(db: Db, keys: readonly string[]): Promise<Map<string, RecordsTable>> {
  if (keys.length === 0) return new Map();
  const rows = await READ_VALUES.all(db, { ids: keys });
  return new Map(rows.map((row) => [row.key, row]));
}

/** Fields of a record that a PATCH may change. */
export type RecordPatch = Partial<Pick<RecordsTable, 'data' | 'ttl_seconds' | 'expires_at' | 'encoding'>>;

interface RecordUpdate {
  readonly id: string;
  readonly now: number;
  /** Null: as it is. */
  readonly data: Uint8Array | null;
  readonly ttlSeconds: number | null;
  /** 1: `expiresAt` is set, null included. */
  readonly setsExpiry: number;
  readonly expiresAt: number | null;
  /** 1: `encoding` is set, null included. */
  readonly setsEncoding: number;
  readonly encoding: 'plain' | null;
}

const UPDATE_RECORD = statement<RecordUpdate, RecordsTable>(
  `update records set data = coalesce(:data, data), ttl_seconds = coalesce(:ttlSeconds, ttl_seconds),
    expires_at = case when :setsExpiry = 1 then :expiresAt else expires_at end,
    encoding = case when :setsEncoding = 1 then :encoding else encoding end,
    updated_at = case when updated_at >= :now then updated_at + 1 else :now end, revision = revision + 1
  where id = :id and (expires_at is null or expires_at > :now) returning ${RECORD_COLUMNS}`,
);

/** @returns the record after the change, its `updated_at` later than before; null when it is gone or past its expiry */
export async function updateRecord(
  tx: Tx,
  id: string,
  patch: RecordPatch,
  now: number,
): Promise<RecordsTable | null> {
  const rows = await UPDATE_RECORD.all(tx, {
    id,
    now,
    data: patch.data ?? null,
    ttlSeconds: patch.ttl_seconds ?? null,
    setsExpiry: patch.expires_at === undefined ? 0 : 1,
    expiresAt: patch.expires_at ?? null,
    setsEncoding: patch.encoding === undefined ? 0 : 1,
    encoding: patch.encoding ?? null,
  });
  return rows[0] ?? null;
}

type DeletedRecord = Pick<RecordsTable, 'id' | 'key' | 'namespace_id'>;

const DELETE_RECORDS = listStatement<{ ids: readonly string[] }, DeletedRecord>(
  'delete from records where id in (:ids) returning id, key, namespace_id',
  'text',
);

/** @returns the records that existed */
export async function deleteRecords(tx: Tx, ids: readonly string[]): Promise<readonly DeletedRecord[]> {
  return ids.length === 0 ? [] : DELETE_RECORDS.all(tx, { ids });
}

const DELETE_SOME = statement<{ namespaceId: string; limit: number }, { key: string }>(
  `delete from records where id in (select id from records where namespace_id = :namespaceId limit :limit)
  returning key`,
);

/** Deletes up to `limit` records of a namespace, expired ones included. @returns their keys */
export async function deleteSomeOfNamespace(tx: Tx, namespaceId: string, limit: number): Promise<string[]> {
  const rows = await DELETE_SOME.all(tx, { namespaceId, limit });
  return rows.map((row) => row.key);
}

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

const LOCK_NAMESPACES = listStatement<
  Ids,
  Pick<NamespaceRow, 'id' | 'name' | 'customer_id'> & { closing: number }
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
  await lockCustomers(
    tx,
    owners.map(({ customer_id }) => customer_id),
  );
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
