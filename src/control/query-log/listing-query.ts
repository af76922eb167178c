import { LIMITS } from '../../base/limits.ts';
import { NOT_A_TIME, parseTime } from '../../base/time.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  type QueryParameters,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { TIME } from '../../protocol/input/schema.ts';
import { foldCase, isLabel } from '../../protocol/names/labels.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import type { LogPosition } from '../../store/query-log/page.ts';

const PAGE_DEFAULT = 50;

/** What rows a list or a stream shows; null does not narrow. */
export interface RowFilter {
  readonly namespace: string | null;
  readonly status: QueryStatus | null;
}

export interface LogListing extends RowFilter {
  /** Inclusive; milliseconds since the epoch. */
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  readonly limit: number;
  /** The page begins after this row, which is newer. */
  readonly before: LogPosition | null;
}

export const STREAM_PARAMETERS = {
  namespace: { schema: { type: 'string' }, description: 'Only queries for this namespace' },
  status: { schema: { enum: QUERY_STATUSES }, description: 'Only those' },
} as const;

export const LOG_PARAMETERS = {
  ...STREAM_PARAMETERS,
  since: { schema: TIME, description: 'Only at or after this time' },
  until: { schema: TIME, description: 'Only before this time' },
  limit: {
    schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageMax, default: PAGE_DEFAULT },
    description: 'Rows of a page',
  },
  cursor: {
    schema: CURSOR_SCHEMA,
    description: 'The page after, from `meta.next_cursor`. Valid with the same filters only',
  },
} as const;

/** Reads the query of GET /query_logs. @throws AppError 400 naming the unknown, repeated or invalid parameter */
export function parseLogListing(query: QueryParameters): LogListing {
  const values = readParameters(query, Object.keys(LOG_PARAMETERS));
  const filter = { ...rowFilter(values), since: time(values, 'since'), until: time(values, 'until') };
  const { since, until } = filter;
  if (since !== null && until !== null && since >= until) throw badParameter('since', 'is not before until');
  const limit = values.limit === undefined ? PAGE_DEFAULT : pageLimit(values.limit);
  if (limit === null) throw badParameter('limit', `is not a number from 1 to ${LIMITS.pageMax}`);
  const before = values.cursor === undefined ? null : decodePosition(values.cursor, filter);
  if (values.cursor !== undefined && before === null) {
    throw badParameter('cursor', 'is not a cursor of this listing');
  }
  return { ...filter, limit, before };
}

/** Reads the query of GET /query_logs/stream. @throws AppError 400 */
export function parseStreamFilter(query: QueryParameters): RowFilter {
  return rowFilter(readParameters(query, Object.keys(STREAM_PARAMETERS)));
}

/** A cursor for the page after this row. It is valid for these filters only. */
export function encodePosition({ at, id }: LogPosition, listing: LogListing): string {
  return encodeListingCursor({ a: at, i: id }, fingerprinted(listing));
}

type Filter = Pick<LogListing, 'namespace' | 'status' | 'since' | 'until'>;

function decodePosition(text: string, filter: Filter): LogPosition | null {
  const { a: at, i: id } = decodeListingCursor(text, fingerprinted(filter)) ?? {};
  return isInteger(at) && isInteger(id) ? { at, id } : null;
}

function fingerprinted({ namespace, status, since, until }: Filter): unknown {
  return ['query_logs', namespace, status, since, until];
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

type Values = Readonly<Record<string, string>>;

/** @throws AppError 400 */
export function rowFilter({ namespace, status }: Values): RowFilter {
  const name = namespace === undefined ? null : foldCase(namespace);
  if (name !== null && !isLabel(name)) throw badParameter('namespace', 'is not a namespace name');
  const known = QUERY_STATUSES.find((one) => one === status?.toLowerCase()) ?? null;
  if (status !== undefined && known === null) {
    throw badParameter('status', `is not one of ${QUERY_STATUSES.join(', ')}`);
  }
  return { namespace: name, status: known };
}

function time(values: Values, name: 'since' | 'until'): number | null {
  const text = values[name];
  if (text === undefined) return null;
  const ms = parseTime(text);
  if (ms === null) throw badParameter(name, NOT_A_TIME);
  return ms;
}

function pageLimit(text: string): number | null {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMITS.pageMax ? limit : null;
}
