import { sql } from 'kysely';
import type { RecordsTable } from '../schema.ts';
import type { Db } from '../store.ts';
import { isLive } from './records.ts';

/**
 * Records that one statement of a filtered listing examines. SQLite runs a statement without a pause, so it bounds how long a
 * filter that matches nothing keeps other requests waiting: about 3 ms.
 */
export const SPAN = 1_000;

/** What a listing is narrowed to; undefined fields do not narrow. Times are milliseconds since the epoch. */
export interface RecordFilter {
  readonly resource?: string | undefined;
  readonly key?: string | undefined;
  readonly keyPrefix?: string | undefined;
  readonly ttlMin?: number | undefined;
  readonly ttlMax?: number | undefined;
  /** Both are exclusive. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
}

/** The position of a record in the listing of its namespace, which is in order of creation. */
export interface RecordPosition {
  readonly createdAt: number;
  readonly id: string;
}

/** A part of the listing of a namespace. */
export interface RecordSpan {
  readonly rows: readonly RecordsTable[];
  /** The position to read on from; null at the end of the namespace. `rows` may be empty before it. */
  readonly next: RecordPosition | null;
}

/**
 * Reads on in the listing of one namespace, oldest first, without the records past their expiry at `now`. It examines at most
 * `SPAN` records, or `limit` where the filter is one that an index serves.
 * @param limit at most so many records are returned
 */
export async function readSpan(
  db: Db,
  namespaceId: string,
  filter: RecordFilter,
  after: RecordPosition | null,
  limit: number,
  now: number,
): Promise<RecordSpan> {
  if (!needsScan(filter)) {
    const rows = await inSpan(db, [namespaceId], filter, after, null).limit(limit).execute();
    const isAlive = ({ expires_at }: RecordsTable): boolean => expires_at === null || expires_at > now;
    return { rows: rows.filter(isAlive), next: rows.length < limit ? null : positionOf(rows.at(-1)) };
  }
  const end = await spanEnd(db, namespaceId, filter, after);
  const rows = await inSpan(db, [namespaceId], filter, after, end).where(isLive(now)).limit(limit).execute();
  return { rows, next: rows.length < limit ? end : positionOf(rows.at(-1)) };
}

/**
 * Lists namespaces that have few records together, in order of creation across all of them. The caller bounds the sum of their
 * records: the statement examines all of them.
 */
export function listTogether(
  db: Db,
  namespaceIds: readonly string[],
  filter: RecordFilter,
  limit: number,
  now: number,
): Promise<RecordsTable[]> {
  return inSpan(db, namespaceIds, filter, null, null).where(isLive(now)).limit(limit).execute();
}

/** Whether rows are examined and left out. A key is unique, and times of creation bound a range of the listing's index. */
function needsScan({ resource, key, keyPrefix, ttlMin, ttlMax }: RecordFilter): boolean {
  if (key !== undefined) return false;
  return [resource, keyPrefix, ttlMin, ttlMax].some((value) => value !== undefined);
}

function positionOf(row: RecordsTable | undefined): RecordPosition | null {
  return row === undefined ? null : { createdAt: row.created_at, id: row.id };
}

/** Position of the last record of a span, read from the index `records_listing` only; null when the namespace ends before. */
async function spanEnd(
  db: Db,
  namespaceId: string,
  { createdAfter, createdBefore }: RecordFilter,
  after: RecordPosition | null,
): Promise<RecordPosition | null> {
  const row = await inSpan(db, [namespaceId], { createdAfter, createdBefore }, after, null)
    .clearSelect()
    .select(['created_at', 'id'])
    .offset(SPAN - 1)
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : { createdAt: row.created_at, id: row.id };
}

/** Records of namespaces after one position and up to another, expired ones included. */
function inSpan(
  db: Db,
  namespaceIds: readonly string[],
  filter: RecordFilter,
  after: RecordPosition | null,
  until: RecordPosition | null,
) {
  const { resource, key, keyPrefix, ttlMin, ttlMax, createdAfter, createdBefore } = filter;
  let query = db.selectFrom('records').selectAll().where('namespace_id', 'in', namespaceIds);
  if (resource !== undefined) query = query.where('resource', '=', resource);
  if (key !== undefined) query = query.where('key', '=', key);
  // Not LIKE: PostgreSQL would read the index of keys, where the prefix may have keys of every namespace.
  if (keyPrefix !== undefined)
    query = query.where(sql<string>`substr(key, 1, ${keyPrefix.length})`, '=', keyPrefix);
  if (ttlMin !== undefined) query = query.where('ttl_seconds', '>=', ttlMin);
  if (ttlMax !== undefined) query = query.where('ttl_seconds', '<=', ttlMax);
  // One lower bound and one upper bound, the narrower of two: an engine uses only one of each for its index.
  if (after !== null && (createdAfter === undefined || after.createdAt > createdAfter)) {
    query = query.where((record) =>
      record(record.refTuple('created_at', 'id'), '>', record.tuple(after.createdAt, after.id)),
    );
  } else if (createdAfter !== undefined) {
    query = query.where('created_at', '>', createdAfter);
  }
  if (until !== null) {
    query = query.where((record) =>
      record(record.refTuple('created_at', 'id'), '<=', record.tuple(until.createdAt, until.id)),
    );
  } else if (createdBefore !== undefined) {
    query = query.where('created_at', '<', createdBefore);
  }
  return query.orderBy('created_at').orderBy('id');
}
