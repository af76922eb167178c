import { listStatement, type Statement, statement } from './engine/statement.ts';
import { type RecordFilter, SPAN } from './record-listing.ts';
import { RECORD_COLUMNS, type RecordsTable } from './records.ts';
import type { Db } from './store.ts';

/** Orders of a listing besides that of creation. A minus: descending. */
export const RECORD_SORTS = ['key', '-key', 'updated_at', '-updated_at'] as const;

export type RecordSort = (typeof RECORD_SORTS)[number];

/** The position of a record in an order. */
export interface OrderPosition {
  readonly value: string | number;
  /** Empty in an order by key, which is unique. */
  readonly id: string;
}

/** What an order needs of a record. Payloads are read for those of the page alone: `readByIds`. */
export type OrderedRecord = Pick<RecordsTable, 'id' | 'namespace_id' | 'key' | 'updated_at' | 'expires_at'>;

export interface OrderedSpan {
  readonly rows: readonly OrderedRecord[];
  /** The position to read on from; null at the end of the namespace. `rows` may be empty before it. */
  readonly next: OrderPosition | null;
}

/** Keys have letters, digits, hyphens and dots. A space is below all of them, and a tilde above. */
const [BELOW, ABOVE] = [' ', '~'];

interface Bounds {
  readonly from: string | number;
  readonly fromId: string;
  readonly to: string | number;
  readonly toId: string;
}

interface Narrowed extends Bounds {
  readonly namespaceId: string;
  readonly resource: string | null;
  readonly prefix: string | null;
  readonly length: number;
  readonly ttlMin: number | null;
  readonly ttlMax: number | null;
  readonly createdAfter: number;
  readonly createdBefore: number;
  readonly now: number;
  readonly limit: number;
}

type Many = Narrowed & { readonly ids: readonly string[] };
type Ended = Bounds & { readonly namespaceId: string };

interface Order {
  readonly span: Statement<Narrowed, OrderedRecord>;
  readonly end: Statement<Ended, OrderedRecord>;
  readonly ofResource: Statement<Narrowed, OrderedRecord> | null;
  readonly endOfResource: Statement<Ended & { readonly resource: string | null }, OrderedRecord> | null;
  readonly together: Statement<Many, OrderedRecord>;
}

const COLUMNS = 'select id, namespace_id, key, updated_at, expires_at from records';

/** `resource` not as a bare column: the planner would leave the index of the order. */
const FILTERS = `(cast(:resource as text) is null or resource || '' = :resource)
    and (cast(:prefix as text) is null or substr(key, 1, :length) = :prefix)
    and (cast(:ttlMin as bigint) is null or ttl_seconds >= :ttlMin)
    and (cast(:ttlMax as bigint) is null or ttl_seconds <= :ttlMax)
    and created_at > :createdAfter and created_at < :createdBefore
    and (expires_at is null or expires_at > :now)`;

/**
 * PostgreSQL would rather read the unique index of keys, where a range has the keys of every customer. So ranges by key are of all columns of
 * the index that is meant, and several namespaces hide the column.
 */
function orderOf(sort: RecordSort): Order {
  const direction = sort.startsWith('-') ? 'desc' : 'asc';
  const isByKey = sort.endsWith('key');
  const rows = (where: string, by: string): string =>
    `${COLUMNS} where ${where} and ${FILTERS} order by ${by} limit :limit`;
  const end = (where: string, by: string): string =>
    `${COLUMNS} where ${where} order by ${by} limit 1 offset ${SPAN - 1}`;
  const ofIndex = (columns: readonly string[], equal: readonly string[]): readonly [string, string] => [
    `(${columns.join(', ')}, key) >= (${equal.join(', ')}, :from) and (${columns.join(', ')}, key) < (${equal.join(', ')}, :to)`,
    [...columns, 'key'].map((column) => `${column} ${direction}`).join(', '),
  ];
  const changed = '(updated_at, id) >= (:from, :fromId) and (updated_at, id) < (:to, :toId)';
  const byChange = `updated_at ${direction}, id ${direction}`;
  const own = isByKey
    ? ofIndex(['namespace_id'], [':namespaceId'])
    : ([`namespace_id = :namespaceId and ${changed}`, byChange] as const);
  const ofResource = ofIndex(['namespace_id', 'resource'], [':namespaceId', ':resource']);
  const many = isByKey ? "key || '' >= :from and key || '' < :to" : changed;
  return {
    span: statement(rows(...own)),
    end: statement(end(...own)),
    ofResource: isByKey ? statement(rows(...ofResource)) : null,
    endOfResource: isByKey ? statement(end(...ofResource)) : null,
    together: listStatement(
      rows(`namespace_id in (:ids) and ${many}`, isByKey ? `key || '' ${direction}` : byChange),
      'text',
    ),
  };
}

const ORDERS: Readonly<Record<RecordSort, Order>> = {
  key: orderOf('key'),
  '-key': orderOf('-key'),
  updated_at: orderOf('updated_at'),
  '-updated_at': orderOf('-updated_at'),
};

/**
 * Reads on in the records of one namespace in an order, without those past their expiry at `now`. It examines at most `SPAN` records,
 * or `limit` where an index serves the filter.
 * @param filter with `key` only in an order by key
 * @param limit at most so many records are returned
 */
export async function readOrdered(
  db: Db,
  namespaceId: string,
  sort: RecordSort,
  filter: RecordFilter,
  after: OrderPosition | null,
  limit: number,
  now: number,
): Promise<OrderedSpan> {
  const { span, end, ofResource, endOfResource } = ORDERS[sort];
  const isScan = needsScan(sort, filter);
  const whole = { ...parametersOf(sort, filter, after), namespaceId, now: isScan ? now : 0, limit };
  const isOfResource = filter.resource !== undefined && ofResource !== null && endOfResource !== null;
  const ending = isOfResource ? endOfResource : end;
  const last = isScan ? await ending.first(db, whole) : null;
  const bounded = last === null ? whole : { ...whole, ...boundsUpTo(sort, orderPositionOf(sort, last)) };
  const rows = await (isOfResource ? ofResource : span).all(db, bounded);
  const next = rows.length < limit ? last : rows.at(-1)!;
  return {
    // Expired ones count for the limit where the span has no end: else a page could examine any number of them.
    rows: isScan ? rows : rows.filter(({ expires_at }) => expires_at === null || expires_at > now),
    next: next === null ? null : orderPositionOf(sort, next),
  };
}

/** Whether rows are examined and left out. In an order by key, resource and prefix are ranges of an index. */
function needsScan(sort: RecordSort, filter: RecordFilter): boolean {
  const { resource, keyPrefix, ttlMin, ttlMax, createdAfter, createdBefore } = filter;
  const others = [ttlMin, ttlMax, createdAfter, createdBefore];
  return [...others, ...(sort.endsWith('key') ? [] : [resource, keyPrefix])].some(
    (value) => value !== undefined,
  );
}

/** Reads namespaces that have few records together, in one order. The caller bounds the sum of their records: all are examined. */
export function readOrderedTogether(
  db: Db,
  ids: readonly string[],
  sort: RecordSort,
  filter: RecordFilter,
  after: OrderPosition | null,
  limit: number,
  now: number,
): Promise<OrderedRecord[]> {
  const whole = { ...parametersOf(sort, filter, after), namespaceId: '', ids, now, limit };
  return ORDERS[sort].together.all(db, whole);
}

export function orderPositionOf(sort: RecordSort, row: OrderedRecord): OrderPosition {
  return sort.endsWith('key') ? { value: row.key, id: '' } : { value: row.updated_at, id: row.id };
}

const READ_BY_IDS = listStatement<{ ids: readonly string[] }, RecordsTable>(
  `select ${RECORD_COLUMNS} from records where id in (:ids)`,
  'text',
);

/** @returns the records that are still there, in any order */
export function readByIds(db: Db, ids: readonly string[]): Promise<RecordsTable[]> {
  return READ_BY_IDS.all(db, { ids });
}

/** The range that is left after a position, and the filters. In an order by key, a key and a prefix are ranges. */
function parametersOf(sort: RecordSort, filter: RecordFilter, after: OrderPosition | null) {
  const { resource = null, key, keyPrefix, ttlMin = null, ttlMax = null } = filter;
  const { createdAfter = -1, createdBefore = Number.MAX_SAFE_INTEGER } = filter;
  const isByKey = sort.endsWith('key');
  const prefix = isByKey && key === undefined ? null : (keyPrefix ?? null);
  const first = key ?? keyPrefix ?? '';
  const range = isByKey
    ? { from: first, fromId: '', to: `${first}${key === undefined ? ABOVE : BELOW}`, toId: '' }
    : { from: -1, fromId: '', to: Number.MAX_SAFE_INTEGER, toId: '' };
  const filters = {
    resource,
    prefix,
    length: prefix?.length ?? 0,
    ttlMin,
    ttlMax,
    createdAfter,
    createdBefore,
  };
  return { ...range, ...filters, ...(after !== null && boundsAfter(sort, after)) };
}

function boundsAfter(sort: RecordSort, { value, id }: OrderPosition): Partial<Bounds> {
  if (sort.startsWith('-')) return { to: value, toId: id };
  return sort === 'key' ? { from: `${value}${BELOW}` } : { from: value, fromId: `${id}${BELOW}` };
}

/** Bounds that hold the position itself as the last. Ids have one length: right behind an id comes the id with a space. */
function boundsUpTo(sort: RecordSort, { value, id }: OrderPosition): Partial<Bounds> {
  switch (sort) {
    case 'key':
      return { to: `${value}${BELOW}` };
    case '-key':
      return { from: value };
    case 'updated_at':
      return { to: value, toId: `${id}${BELOW}` };
    case '-updated_at':
      return { from: value, fromId: id };
  }
}
