import { insertText, listStatement, rowInsert, statement } from '../engine/statement.ts';
import type { RecordsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

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
  'id' | 'namespace_id' | 'key' | 'expires_at' | 'created_at' | 'updated_at'
>;

export const RECORD_COLUMNS =
  'id, namespace_id, key, resource, version, data, content_type, ttl_seconds, expires_at, created_at, updated_at';

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
  },
  `on conflict (key) do update set data = excluded.data, content_type = excluded.content_type,
    ttl_seconds = excluded.ttl_seconds, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
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
  ]);
  await UPSERT_RECORDS(tx, rows);
}

interface OwnRecordParameters {
  readonly id: string;
  readonly customerId: string;
  readonly now: number;
}

const OWN_RECORD = `select r.id, r.namespace_id, r.key, r.resource, r.version, r.data, r.content_type, r.ttl_seconds,
    r.expires_at, r.created_at, r.updated_at, n.name as namespace, n.suspended
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
  'select id, namespace_id, key, expires_at, created_at, updated_at from records where key in (:ids)',
  'text',
  { lock: 'for update' },
);

/** Finds the records under `keys`, of any customer and expired ones included. It locks their rows until the unit ends. */
export async function holdKnownRecords(tx: Tx, keys: readonly string[]): Promise<Map<string, KnownRecord>> {
  if (keys.length === 0) return new Map();
  const rows = await HOLD_KNOWN.all(tx, { ids: keys });
  return new Map(rows.map((row) => [row.key, row]));
}

/** Fields of a record that a PATCH may change. */
export type RecordPatch = Partial<Pick<RecordsTable, 'data' | 'ttl_seconds' | 'expires_at'>>;

interface RecordUpdate {
  readonly id: string;
  readonly now: number;
  /** Null: as it is. */
  readonly data: Uint8Array | null;
  readonly ttlSeconds: number | null;
  /** 1: `expiresAt` is set, null included. */
  readonly setsExpiry: number;
  readonly expiresAt: number | null;
}

const UPDATE_RECORD = statement<RecordUpdate, RecordsTable>(
  `update records set data = coalesce(:data, data), ttl_seconds = coalesce(:ttlSeconds, ttl_seconds),
    expires_at = case when :setsExpiry = 1 then :expiresAt else expires_at end,
    updated_at = case when updated_at >= :now then updated_at + 1 else :now end
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
