import { listStatement, statement } from './engine/statement.ts';
import { RECORD_COLUMNS, type RecordsTable } from './records.ts';
import type { Db } from './store.ts';

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

interface SpanParameters {
  readonly resource: string | null;
  readonly key: string | null;
  readonly prefix: string | null;
  /** Characters of `prefix`. */
  readonly length: number;
  readonly ttlMin: number | null;
  readonly ttlMax: number | null;
  readonly from: number;
  readonly fromId: string;
  readonly to: number;
  readonly toId: string;
  readonly now: number;
  readonly limit: number;
}

/** One lower bound and one upper bound: an engine uses only one of each for its index. */
const IN_SPAN = '(created_at, id) > (:from, :fromId) and (created_at, id) <= (:to, :toId)';

/**
 * Records of the namespaces, from one position to another. Without the key, SQLite would not look for it in its index.
 * The prefix not with LIKE: PostgreSQL would read the index of keys, where the prefix may have keys of every namespace. The resource not as
 * a bare column: it would read the index of resources in each span, and sort all of them.
 */
const select = (where: string): string => `select ${RECORD_COLUMNS} from records
  where ${where} and ${IN_SPAN}
    and (cast(:resource as text) is null or resource || '' = :resource)
    and (cast(:prefix as text) is null or substr(key, 1, :length) = :prefix)
    and (cast(:ttlMin as bigint) is null or ttl_seconds >= :ttlMin)
    and (cast(:ttlMax as bigint) is null or ttl_seconds <= :ttlMax)
    and (expires_at is null or expires_at > :now)
  order by created_at, id limit :limit`;

type OfNamespace = SpanParameters & { readonly namespaceId: string };
type OfNamespaces = SpanParameters & { readonly ids: readonly string[] };

const READ_SPAN = statement<OfNamespace, RecordsTable>(select('namespace_id = :namespaceId'));
const READ_KEY = statement<OfNamespace, RecordsTable>(select('namespace_id = :namespaceId and key = :key'));
const LIST = listStatement<OfNamespaces, RecordsTable>(select('namespace_id in (:ids)'), 'text');
const LIST_KEY = listStatement<OfNamespaces, RecordsTable>(
  select('namespace_id in (:ids) and key = :key'),
  'text',
);

/** Position of the last record of a span, read from the index `records_listing` only. */
const SPAN_END = statement<
  Pick<OfNamespace, 'namespaceId' | 'from' | 'fromId' | 'to' | 'toId'>,
  Pick<RecordsTable, 'created_at' | 'id'>
>(
  `select created_at, id from records where namespace_id = :namespaceId and ${IN_SPAN}
  order by created_at, id limit 1 offset ${SPAN - 1}`,
);

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
  const isScan = needsScan(filter);
  const whole = { ...parametersOf(filter, after), namespaceId, limit, now: isScan ? now : 0 };
  const end = isScan ? await SPAN_END.first(db, whole) : null;
  const span = end === null ? whole : { ...whole, to: end.created_at, toId: end.id };
  const rows = await (filter.key === undefined ? READ_SPAN : READ_KEY).all(db, span);
  const next = rows.length < limit ? end : rows.at(-1)!;
  return {
    // Expired ones count for the limit where the span has no end: else a page could examine any number of them.
    rows: isScan ? rows : rows.filter(({ expires_at }) => expires_at === null || expires_at > now),
    next: next === null ? null : { createdAt: next.created_at, id: next.id },
  };
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
  const parameters = { ...parametersOf(filter, null), ids: namespaceIds, limit, now };
  return (filter.key === undefined ? LIST : LIST_KEY).all(db, parameters);
}

/** Whether rows are examined and left out. A key is unique, and times of creation bound a range of the listing's index. */
function needsScan({ resource, key, keyPrefix, ttlMin, ttlMax }: RecordFilter): boolean {
  if (key !== undefined) return false;
  return [resource, keyPrefix, ttlMin, ttlMax].some((value) => value !== undefined);
}

/** The bounds are the narrower of two. No id is empty: a bound by time alone has an empty one. */
function parametersOf(filter: RecordFilter, after: RecordPosition | null) {
  const { resource = null, key = null, keyPrefix = null, ttlMin = null, ttlMax = null } = filter;
  const { createdAfter = -1, createdBefore = Number.MAX_SAFE_INTEGER } = filter;
  const isAfter = after !== null && after.createdAt > createdAfter;
  return {
    resource,
    key,
    prefix: keyPrefix,
    length: keyPrefix?.length ?? 0,
    ttlMin,
    ttlMax,
    from: isAfter ? after.createdAt : createdAfter + 1,
    fromId: isAfter ? after.id : '',
    to: createdBefore,
    toId: '',
  };
}
