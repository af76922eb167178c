import { LIMITS } from '../../base/limits.ts';
import { NOT_A_TIME, parseTime, TIMESTAMP } from '../../base/time.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  type QueryParameters,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import type { Schema } from '../../protocol/input/schema.ts';
import { foldCase, isLabel, LABEL_SCHEMA } from '../../protocol/names/labels.ts';
import type { RecordFilter, RecordPosition } from '../../store/record-listing.ts';
import { type OrderPosition, RECORD_SORTS, type RecordSort } from '../../store/record-order.ts';

/** For a page without a limit. */
const PAGE_DEFAULT = 100;

const KEY_TEXT = /^[A-Za-z0-9.-]+$/;
const KEY_TEXT_SCHEMA = { type: 'string', pattern: KEY_TEXT.source, maxLength: LIMITS.queryName } as const;

export interface ListingFilter extends RecordFilter {
  readonly namespace?: string | undefined;
}

/** Order of a listing: namespace name, time of creation, id. */
export interface ListingPosition extends RecordPosition {
  readonly namespace: string;
}

/** What `q` was found to be, in the order in which it is tried. */
export const MATCHES = ['key_prefix', 'resource', 'namespace'] as const;

export type Match = (typeof MATCHES)[number];

/** A page of a listing with `sort` or `q`. */
export interface OrderedPage {
  readonly sort: RecordSort;
  readonly q: string | undefined;
  readonly limit: number;
  readonly after: OrderPosition | null;
  /** What the page before found `q` to be. */
  readonly matched: Match | null;
}

interface Listing {
  readonly filter: ListingFilter;
  /** In order of creation. Both null: everything, streamed. */
  readonly page: { readonly limit: number; readonly after: ListingPosition | null } | null;
  readonly ordered: OrderedPage | null;
}

type Parse = (text: string) => string | number | null;

interface Row {
  readonly parse: Parse;
  /** The end of the error text. */
  readonly error: string;
  readonly schema: Schema;
  readonly description: string;
}

const SECONDS = {
  parse: integer,
  error: 'is not a whole number of seconds',
  schema: { type: 'integer' },
} as const;
const MOMENT = {
  parse: parseTime,
  error: NOT_A_TIME,
  schema: { type: 'string', pattern: TIMESTAMP.source },
} as const;

const PARAMETERS = {
  namespace: {
    parse: label,
    error: 'is not a namespace name',
    schema: LABEL_SCHEMA,
    description: 'Only of this namespace, in any case',
  },
  resource: {
    parse: label,
    error: 'is not a resource label',
    schema: LABEL_SCHEMA,
    description: 'Only with this resource label, in any case',
  },
  key: {
    parse: keyText,
    error: 'is not a record key, in letters, digits, hyphens and dots',
    schema: KEY_TEXT_SCHEMA,
    description: 'Only with this key: one record or none',
  },
  key_prefix: {
    parse: keyText,
    error: 'is not the start of a record key, in letters, digits, hyphens and dots',
    schema: KEY_TEXT_SCHEMA,
    description: 'Only with a key that begins so',
  },
  ttl_min: { ...SECONDS, description: 'Only with a `ttl_seconds` of at least this' },
  ttl_max: { ...SECONDS, description: 'Only with a `ttl_seconds` of at most this' },
  created_after: { ...MOMENT, description: 'Only created strictly after this time' },
  created_before: { ...MOMENT, description: 'Only created strictly before this time' },
  q: {
    parse: keyText,
    error: 'is not a part of a record key, in letters, digits, hyphens and dots',
    schema: KEY_TEXT_SCHEMA,
    description:
      'A search: records whose key begins so; when there are none, those of this resource label; when there are none, those of this namespace. `X-Matched-By` says which. In the order of keys, unless `sort` is given',
  },
  sort: {
    parse: recordSort,
    error: `is not one of ${RECORD_SORTS.join(', ')}`,
    schema: { type: 'string', enum: RECORD_SORTS },
    description: 'The order, across namespaces. A minus: descending',
  },
  limit: {
    parse: pageLimit,
    error: `is not a number from 1 to ${LIMITS.pageRecordsMax}`,
    schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageRecordsMax },
    description: `Records of a page; ${PAGE_DEFAULT} when only \`cursor\`, \`sort\` or \`q\` is given`,
  },
  cursor: {
    parse: (text) => text,
    error: 'is not a cursor of this listing',
    schema: CURSOR_SCHEMA,
    description: 'The page after, from `Link`. Valid for the same filters only',
  },
} as const satisfies Readonly<Record<string, Row>>;

/** For the OpenAPI document. */
export const LISTING_PARAMETERS: Readonly<Record<Parameter, Pick<Row, 'schema' | 'description'>>> =
  PARAMETERS;

type Parameter = keyof typeof PARAMETERS;

/** @throws AppError 400 with the name of an unknown, repeated or invalid parameter */
export function parseListing(query: QueryParameters): Listing {
  const values: { [P in Parameter]?: ReturnType<(typeof PARAMETERS)[P]['parse']> & {} } = {};
  for (const [name, text] of Object.entries(readParameters(query, Object.keys(PARAMETERS)))) {
    const { parse, error } = PARAMETERS[name as Parameter];
    const value = parse(text);
    if (value === null) throw badParameter(name, error);
    Object.assign(values, { [name]: value });
  }
  const filter = {
    namespace: values.namespace,
    resource: values.resource,
    key: values.key,
    keyPrefix: values.key_prefix,
    ttlMin: values.ttl_min,
    ttlMax: values.ttl_max,
    createdAfter: values.created_after,
    createdBefore: values.created_before,
  };
  const { q, sort, cursor } = values;
  const limit = values.limit ?? PAGE_DEFAULT;
  if (sort !== undefined || q !== undefined) {
    const order = { sort: (sort ?? 'key') as RecordSort, q: q as string | undefined };
    const start = cursor === undefined ? FIRST : decodeOrdered(cursor, filter, order);
    if (start === null) throw badParameter('cursor', PARAMETERS.cursor.error);
    return { filter, page: null, ordered: { ...order, limit, ...start } };
  }
  if (values.limit === undefined && cursor === undefined) return { filter, page: null, ordered: null };
  const after = cursor === undefined ? null : decodePosition(cursor, filter);
  if (cursor !== undefined && after === null) throw badParameter('cursor', PARAMETERS.cursor.error);
  return { filter, page: { limit, after }, ordered: null };
}

const FIRST = { after: null, matched: null } as const;

type Order = Pick<OrderedPage, 'sort' | 'q'>;

export function encodeOrdered(
  { value, id }: OrderPosition,
  matched: Match | null,
  filter: ListingFilter,
  { sort, q }: Order,
): string {
  const position = { v: value, i: id, ...(matched !== null && { m: matched }) };
  return encodeListingCursor(position, { ...filter, sort, q });
}

function decodeOrdered(
  text: string,
  filter: ListingFilter,
  { sort, q }: Order,
): Pick<OrderedPage, 'after' | 'matched'> | null {
  const { v: value, i: id, m } = decodeListingCursor(text, { ...filter, sort, q }) ?? {};
  const isValue = sort.endsWith('key') ? isKeyText(value) : Number.isSafeInteger(value);
  const matched = MATCHES.find((match) => match === m) ?? null;
  if (!isValue || typeof id !== 'string' || (q === undefined) !== (matched === null)) return null;
  return { after: { value: value as string | number, id }, matched };
}

export function encodeListing({ namespace, createdAt, id }: ListingPosition, filter: ListingFilter): string {
  return encodeListingCursor({ n: namespace, c: createdAt, i: id }, filter);
}

function decodePosition(text: string, filter: ListingFilter): ListingPosition | null {
  const { n: namespace, c: createdAt, i: id } = decodeListingCursor(text, filter) ?? {};
  if (typeof namespace !== 'string' || typeof id !== 'string') return null;
  return Number.isSafeInteger(createdAt) ? { namespace, createdAt: createdAt as number, id } : null;
}

/** DNS ignores case, and so do filters. */
function label(text: string): string | null {
  const lower = foldCase(text);
  return isLabel(lower) ? lower : null;
}

function keyText(text: string): string | null {
  return isKeyText(text) ? foldCase(text) : null;
}

function isKeyText(text: unknown): boolean {
  return typeof text === 'string' && text.length <= LIMITS.queryName && KEY_TEXT.test(text);
}

function recordSort(text: string): RecordSort | null {
  return RECORD_SORTS.find((sort) => sort === text) ?? null;
}

function integer(text: string): number | null {
  return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

function pageLimit(text: string): number | null {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMITS.pageRecordsMax ? limit : null;
}
