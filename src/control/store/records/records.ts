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

/** The fields of an existing record that a bulk write needs. */
export type KnownRecord = Pick<
  RecordsTable,
  'id' | 'namespace_id' | 'key' | 'expires_at' | 'created_at' | 'updated_at'
>;

/** Ids or keys in one list: well below the parameters that either engine allows in a statement. */
const CHUNK = 1000;

/** @returns false when the key is taken, also by an expired record that the sweeper has not deleted */
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
  return (await ownedRecord(db, id, userId, now).executeTakeFirst()) ?? null;
}

/** As `findRecord`; it locks the record's row until the unit ends. */
export async function holdRecord(
  tx: Tx,
  id: string,
  userId: string,
  now: number,
): Promise<OwnRecordRow | null> {
  return (await ownedRecord(tx, id, userId, now).forUpdate('records').executeTakeFirst()) ?? null;
}

function ownedRecord(db: Db, id: string, userId: string, now: number) {
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

/** Finds the records under `keys`, of any customer and expired ones included. It locks their rows until the unit ends. */
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

/** @returns the records that existed */
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

/** The condition that a record is not past its expiry. The sweep deletes expired records some time later. */
export function isLive(now: number) {
  return (record: ExpressionBuilder<Database, 'records'>) =>
    record.or([record('records.expires_at', 'is', null), record('records.expires_at', '>', now)]);
}
