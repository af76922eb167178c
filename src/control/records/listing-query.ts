import { decodeListingCursor, encodeListingCursor } from '../../core/input/listing-cursor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../core/input/query-parameters.ts';
import { LIMITS } from '../../core/limits.ts';
import { foldCase, isLabel } from '../../core/names/labels.ts';
import { NOT_A_TIME, parseTime } from '../../core/text/time.ts';
import type { RecordFilter, RecordPosition } from '../store/records/record-listing.ts';

/** For a page with a cursor and no limit. */
const PAGE_DEFAULT = 100;

const KEY_TEXT = /^[A-Za-z0-9.-]+$/;

export interface ListingFilter extends RecordFilter {
  readonly namespace?: string | undefined;
}

/** Order of a listing: namespace name, time of creation, id. */
export interface ListingPosition extends RecordPosition {
  readonly namespace: string;
}

export interface Listing {
  readonly filter: ListingFilter;
  /** Null: everything, streamed. */
  readonly page: { readonly limit: number; readonly after: ListingPosition | null } | null;
}

type Parse = (text: string) => string | number | null;

/** The reader of each parameter, and the end of its error text. */
const PARAMETERS = {
  namespace: [label, 'is not a namespace name'],
  resource: [label, 'is not a resource label'],
  key: [keyText, 'is not a record key, in letters, digits, hyphens and dots'],
  key_prefix: [keyText, 'is not the start of a record key, in letters, digits, hyphens and dots'],
  ttl_min: [integer, 'is not a whole number of seconds'],
  ttl_max: [integer, 'is not a whole number of seconds'],
  created_after: [parseTime, NOT_A_TIME],
  created_before: [parseTime, NOT_A_TIME],
  limit: [pageLimit, `is not a number from 1 to ${LIMITS.pageRecordsMax}`],
  cursor: [(text) => text, 'is not a cursor of this listing'],
} as const satisfies Readonly<Record<string, readonly [Parse, string]>>;

type Parameter = keyof typeof PARAMETERS;

/** @throws AppError 400 with the name of an unknown, repeated or invalid parameter */
export function parseListing(query: QueryParameters): Listing {
  const values: { [P in Parameter]?: ReturnType<(typeof PARAMETERS)[P][0]> & {} } = {};
  for (const [name, text] of Object.entries(readParameters(query, Object.keys(PARAMETERS)))) {
    const [parse, errorText] = PARAMETERS[name as Parameter];
    const value = parse(text);
    if (value === null) throw badParameter(name, errorText);
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
  if (values.limit === undefined && values.cursor === undefined) return { filter, page: null };
  const after = values.cursor === undefined ? null : decodePosition(values.cursor, filter);
  if (values.cursor !== undefined && after === null) throw badParameter('cursor', PARAMETERS.cursor[1]);
  return { filter, page: { limit: values.limit ?? PAGE_DEFAULT, after } };
}

export function encodePosition({ namespace, createdAt, id }: ListingPosition, filter: ListingFilter): string {
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
  return text.length <= LIMITS.queryName && KEY_TEXT.test(text) ? foldCase(text) : null;
}

function integer(text: string): number | null {
  return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

function pageLimit(text: string): number | null {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMITS.pageRecordsMax ? limit : null;
}
