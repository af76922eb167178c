import { type ExpressionBuilder, type Insertable, sql } from 'kysely';
import type { Database, RecordsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** A record with the name of its namespace. */
export interface RecordRow extends RecordsTable {
  readonly namespace: string;
}

/** A record of the customer's, and whether the operator has suspended its namespace: 1 or 0. */
export interface OwnRecordRow extends RecordRow {
  readonly suspended: number;
}

/** What a unit needs to know of a record that is there already. */
export type KnownRecord = Pick<
  RecordsTable,
  'id' | 'namespace_id' | 'key' | 'expires_at' | 'created_at' | 'updated_at'
>;

/** Ids or keys in one list: well below the parameters that either engine allows in a statement. */
const CHUNK = 1000;

/** @returns false when the key is taken, be it by a record that is past its expiry and not yet erased */
export async function insertRecord(tx: Tx, record: Insertable<RecordsTable>): Promise<boolean> {
  const row = await tx
    .insertInto('records')
    .values(record)
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Inserts records, or replaces what is under their keys; a replaced record keeps its id and `created_at`.
 *
 * @param records at most 500, of different keys
 */
export async function upsertRecords(tx: Tx, records: readonly Insertable<RecordsTable>[]): Promise<void> {
  await tx
    .insertInto('records')
    .values(records)
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet((excluded) => ({
        data: excluded.ref('excluded.data'),
        content_type: excluded.ref('excluded.content_type'),
        ttl_seconds: excluded.ref('excluded.ttl_seconds'),
        expires_at: excluded.ref('excluded.expires_at'),
        updated_at: excluded.ref('excluded.updated_at'),
      })),
    )
    .execute();
}

/** One of the customer's records, unless it is past its expiry at `now`. */
export async function findRecord(
  db: Db,
  id: string,
  userId: string,
  now: number,
): Promise<OwnRecordRow | null> {
  return (await ownRecord(db, id, userId, now).executeTakeFirst()) ?? null;
}

/** As `findRecord`; the record's row is held until the unit ends. */
export async function holdRecord(
  tx: Tx,
  id: string,
  userId: string,
  now: number,
): Promise<OwnRecordRow | null> {
  return (await ownRecord(tx, id, userId, now).forUpdate('records').executeTakeFirst()) ?? null;
}

function ownRecord(db: Db, id: string, userId: string, now: number) {
  return db
    .selectFrom('records')
    .innerJoin('namespaces', 'namespaces.id', 'records.namespace_id')
    .selectAll('records')
    .select(['namespaces.name as namespace', 'namespaces.suspended as suspended'])
    .where('records.id', '=', id)
    .where(isLive(now))
    .where('namespaces.user_id', '=', userId)
    .where('namespaces.closing', '=', 0);
}

/** Those of `keys` that are taken, expired ones included, whoever owns them. Their rows are held until the unit ends. */
export async function holdKnownRecords(tx: Tx, keys: readonly string[]): Promise<Map<string, KnownRecord>> {
  const found = new Map<string, KnownRecord>();
  for (let start = 0; start < keys.length; start += CHUNK) {
    const rows = await tx
      .selectFrom('records')
      .select(['id', 'namespace_id', 'key', 'expires_at', 'created_at', 'updated_at'])
      .where('key', 'in', keys.slice(start, start + CHUNK))
      .forUpdate()
      .execute();
    for (const row of rows) found.set(row.key, row);
  }
  return found;
}

/** Fields of a record that a PATCH may change. */
export type RecordPatch = Partial<Pick<RecordsTable, 'data' | 'ttl_seconds' | 'expires_at'>>;

/** @returns the record after the change, its `updated_at` later than before; null when it is gone or past its expiry */
export async function updateRecord(
  tx: Tx,
  id: string,
  patch: RecordPatch,
  now: number,
): Promise<RecordsTable | null> {
  const row = await tx
    .updateTable('records')
    .set({
      ...patch,
      updated_at: sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`,
    })
    .where('id', '=', id)
    .where(isLive(now))
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** @returns the records that were really there */
export async function deleteRecords(
  tx: Tx,
  ids: readonly string[],
): Promise<{ readonly id: string; readonly key: string; readonly namespace_id: string }[]> {
  const gone = [];
  for (let start = 0; start < ids.length; start += CHUNK) {
    const rows = await tx
      .deleteFrom('records')
      .where('id', 'in', ids.slice(start, start + CHUNK))
      .returning(['id', 'key', 'namespace_id'])
      .execute();
    gone.push(...rows);
  }
  return gone;
}

/** Deletes up to `limit` records of a namespace, expired ones included. @returns their keys */
export async function deleteSomeOfNamespace(tx: Tx, namespaceId: string, limit: number): Promise<string[]> {
  const rows = await tx
    .deleteFrom('records')
    .where('id', 'in', (record) =>
      record.selectFrom('records').select('id').where('namespace_id', '=', namespaceId).limit(limit),
    )
    .returning('key')
    .execute();
  return rows.map((row) => row.key);
}

/** What a listing is narrowed to; undefined fields do not narrow. Times are milliseconds since the epoch. */
export interface RecordFilter {
  readonly resource?: string | undefined;
  readonly key?: string | undefined;
  /** Letters, digits, hyphens and dots alone. */
  readonly keyPrefix?: string | undefined;
  readonly ttlMin?: number | undefined;
  readonly ttlMax?: number | undefined;
  /** Exclusive, both. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
}

/** A record's place in the listing of its namespace. */
export interface RecordPlace {
  readonly createdAt: number;
  readonly id: string;
}

/** A page of the records of namespaces after `place`, oldest first, without those past their expiry at `now`. */
export function listRecords(
  db: Db,
  namespaceIds: readonly string[],
  filter: RecordFilter,
  place: RecordPlace | null,
  limit: number,
  now: number,
): Promise<RecordsTable[]> {
  let query = db
    .selectFrom('records')
    .selectAll()
    .where('namespace_id', 'in', namespaceIds)
    .where(isLive(now));
  const { resource, key, keyPrefix, ttlMin, ttlMax, createdAfter, createdBefore } = filter;
  if (resource !== undefined) query = query.where('resource', '=', resource);
  if (key !== undefined) query = query.where('key', '=', key);
  if (keyPrefix !== undefined) query = query.where('key', 'like', `${keyPrefix}%`);
  if (ttlMin !== undefined) query = query.where('ttl_seconds', '>=', ttlMin);
  if (ttlMax !== undefined) query = query.where('ttl_seconds', '<=', ttlMax);
  if (createdAfter !== undefined) query = query.where('created_at', '>', createdAfter);
  if (createdBefore !== undefined) query = query.where('created_at', '<', createdBefore);
  if (place !== null) {
    query = query.where((record) =>
      record(record.refTuple('created_at', 'id'), '>', record.tuple(place.createdAt, place.id)),
    );
  }
  return query.orderBy('created_at').orderBy('id').limit(limit).execute();
}

/** True of a record that is not past its expiry, be it erased yet or not. */
function isLive(now: number) {
  return (record: ExpressionBuilder<Database, 'records'>) =>
    record.or([record('records.expires_at', 'is', null), record('records.expires_at', '>', now)]);
}
