import { LIMITS } from '../../base/limits.ts';
import { NOT_A_TIME, parseTime, TIMESTAMP } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  type QueryParameters,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { resourceSchema, type Schema } from '../../protocol/input/schema.ts';
import { foldCase, isLabel, LABEL_SCHEMA } from '../../protocol/names/labels.ts';
import { listNamespaces, type NamespaceRow } from '../../store/namespaces.ts';
import {
  listTogether,
  type RecordFilter,
  type RecordPosition,
  readSpan,
} from '../../store/record-listing.ts';
import type { RecordRow, RecordsTable } from '../../store/records.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { PLAIN, RECORD_SCHEMA, type RecordResource, recordResource } from './shapes.ts';

/** Records of one statement of a stream. The first number fills a page with full records. */
const BATCH_MIN = 16;
const BATCH_MAX = 200;

/** Largest number of octets of a record in JSON without key and data. */
const FIXED_OCTETS = 450;

interface RecordPage {
  /** Iterable once. A batch that was taken is no longer referenced. */
  readonly batches: Iterable<readonly RecordResource[]>;
  /** Null on the last page. */
  readonly next: string | null;
  /** The page is one batch, of at most `LIMITS.listingPage` octets of JSON. */
  readonly isSmall: boolean;
}

/** Reads the whole page before the first batch is taken. */
export async function pageRecords(
  deps: HasStore & HasClock,
  actor: Actor,
  filter: ListingFilter,
  { limit, after }: { readonly limit: number; readonly after: ListingPosition | null },
): Promise<RecordPage> {
  const namespaces = await inScope(deps, actor, filter);
  const rows = await readOn(deps, namespaces, filter, after, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  rows.splice(limit);
  return {
    isSmall: fitPage(rows) === rows.length,
    batches: takeBatches(rows),
    next: last === undefined ? null : encodePosition(positionOf(last), filter),
  };
}

/** Batches of at most `LIMITS.listingPage` octets of JSON. Base64 is encoded late: it is longer than the rows. */
function* takeBatches(rows: RecordRow[]): Generator<readonly RecordResource[]> {
  while (rows.length > 0) yield resourcesOf(rows.splice(0, fitPage(rows)));
}

function resourcesOf(rows: readonly RecordRow[]): readonly RecordResource[] {
  return rows.map((row) => recordResource(row, row.namespace));
}

/** Pages of at most `LIMITS.listingPage` octets, each read when the consumer asks for it. */
export async function* streamRecords(
  deps: HasStore & HasClock,
  actor: Actor,
  filter: ListingFilter,
): AsyncGenerator<readonly RecordResource[]> {
  const namespaces = await inScope(deps, actor, filter);
  let after: ListingPosition | null = null;
  for (let batch = BATCH_MIN; ; ) {
    const rows: RecordRow[] = await readOn(deps, namespaces, filter, after, batch);
    const fitting = fitPage(rows);
    if (fitting > 0) yield resourcesOf(rows.slice(0, fitting));
    if (fitting === rows.length && rows.length < batch) return;
    after = positionOf(rows[fitting - 1]!);
    batch = fitting < rows.length ? Math.max(BATCH_MIN, fitting) : Math.min(BATCH_MAX, batch * 2);
  }
}

/** Records that fit into a page; at least one unless there is none. */
function fitPage(rows: readonly RecordRow[]): number {
  let octets = 0;
  const end = rows.findIndex((row, index) => {
    octets += FIXED_OCTETS + row.key.length + Math.ceil(row.data.length / 3) * 4;
    return octets > LIMITS.listingPage && index > 0;
  });
  return end < 0 ? rows.length : end;
}

/** Namespaces that the listing covers, by name. */
async function inScope(
  { store }: HasStore,
  actor: Actor,
  { namespace }: ListingFilter,
): Promise<NamespaceRow[]> {
  const all = await listNamespaces(store.read, actor.customerId);
  return all.filter(
    ({ name, records_count }) =>
      records_count > 0 && reaches(actor, name) && (namespace === undefined || name === namespace),
  );
}

/** Order: namespace, time of creation, id. Small namespaces share a statement; otherwise each would cost one. */
async function readOn(
  deps: HasStore & HasClock,
  namespaces: readonly NamespaceRow[],
  filter: ListingFilter,
  after: ListingPosition | null,
  count: number,
): Promise<RecordRow[]> {
  const rows: RecordRow[] = [];
  const rest = namespaces.filter(({ name }) => after === null || name >= after.namespace);
  while (rest.length > 0 && rows.length < count) {
    const room = count - rows.length;
    const first = rest[0]!;
    const start = after?.namespace === first.name ? after : null;
    const group = start === null ? countSmall(rest, room) : 1;
    const together = group > 1 ? await readTogether(deps, rest.slice(0, group), filter, room) : null;
    rows.push(...(together ?? (await readOne(deps, first, filter, start, room))));
    rest.splice(0, together === null ? 1 : group);
  }
  return rows;
}

/** Records of one namespace, in statements of bounded work. */
async function readOne(
  { store, clock }: HasStore & HasClock,
  { id, name }: NamespaceRow,
  filter: ListingFilter,
  start: RecordPosition | null,
  count: number,
): Promise<RecordRow[]> {
  const found: RecordsTable[] = [];
  let after = start;
  do {
    const span = await readSpan(store.read, id, filter, after, count - found.length, clock());
    found.push(...span.rows);
    after = span.next;
  } while (after !== null && found.length < count);
  return found.map((row) => ({ ...row, namespace: name }));
}

/** @returns null when the namespaces grew since they were counted and now match more than `count` records */
async function readTogether(
  { store, clock }: HasStore & HasClock,
  namespaces: readonly NamespaceRow[],
  filter: ListingFilter,
  count: number,
): Promise<RecordRow[] | null> {
  const names = new Map(namespaces.map(({ id, name }) => [id, name]));
  const found = await listTogether(store.read, [...names.keys()], filter, count + 1, clock());
  if (found.length > count) return null;
  // Rows have the order of time and id; the stable sort keeps it within a namespace.
  return found
    .map((row) => ({ ...row, namespace: names.get(row.namespace_id)! }))
    .sort((a, b) => (a.namespace === b.namespace ? 0 : a.namespace < b.namespace ? -1 : 1));
}

/** Namespaces that have at most `room` records together; at least one. */
function countSmall(namespaces: readonly NamespaceRow[], room: number): number {
  let records = 0;
  const end = namespaces.findIndex(({ records_count }, index) => {
    records += records_count;
    return records > room && index > 0;
  });
  return end < 0 ? namespaces.length : end;
}

function positionOf(row: RecordRow): ListingPosition {
  return { namespace: row.namespace, createdAt: row.created_at, id: row.id };
}

/** For a page with a cursor and no limit. */
const PAGE_DEFAULT = 100;

const KEY_TEXT = /^[A-Za-z0-9.-]+$/;
const KEY_TEXT_SCHEMA = { type: 'string', pattern: KEY_TEXT.source, maxLength: LIMITS.queryName } as const;

interface ListingFilter extends RecordFilter {
  readonly namespace?: string | undefined;
}

/** Order of a listing: namespace name, time of creation, id. */
interface ListingPosition extends RecordPosition {
  readonly namespace: string;
}

interface Listing {
  readonly filter: ListingFilter;
  /** Null: everything, streamed. */
  readonly page: { readonly limit: number; readonly after: ListingPosition | null } | null;
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
  limit: {
    parse: pageLimit,
    error: `is not a number from 1 to ${LIMITS.pageRecordsMax}`,
    schema: { type: 'integer', minimum: 1, maximum: LIMITS.pageRecordsMax },
    description: `Records of a page; ${PAGE_DEFAULT} when only \`cursor\` is given`,
  },
  cursor: {
    parse: (text) => text,
    error: 'is not a cursor of this listing',
    schema: CURSOR_SCHEMA,
    description: 'The page after, from `Link`. Valid for the same filters only',
  },
} as const satisfies Readonly<Record<string, Row>>;

/** For the OpenAPI document. */
export const LISTING_PARAMETERS: Readonly<Record<string, Pick<Row, 'schema' | 'description'>>> = PARAMETERS;

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
  if (values.limit === undefined && values.cursor === undefined) return { filter, page: null };
  const after = values.cursor === undefined ? null : decodePosition(values.cursor, filter);
  if (values.cursor !== undefined && after === null) throw badParameter('cursor', PARAMETERS.cursor.error);
  return { filter, page: { limit: values.limit ?? PAGE_DEFAULT, after } };
}

function encodePosition({ namespace, createdAt, id }: ListingPosition, filter: ListingFilter): string {
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

/** A line of an export, in the form that `uqrp import` and a bulk write take. */
export type ExportedRecord = Pick<
  RecordResource,
  'key' | 'data' | 'content_type' | 'encoding' | 'ttl_seconds' | 'expires_at'
>;

export const EXPORTED_RECORD_SCHEMA = resourceSchema<ExportedRecord>(
  'ExportedRecord',
  {
    key: RECORD_SCHEMA.properties.key,
    data: RECORD_SCHEMA.properties.data,
    content_type: RECORD_SCHEMA.properties.content_type,
    encoding: PLAIN,
    ttl_seconds: RECORD_SCHEMA.properties.ttl_seconds,
    expires_at: RECORD_SCHEMA.properties.expires_at,
  },
  { encoding: true },
);

export function exportedRecord(record: RecordResource): ExportedRecord {
  const { key, data, content_type, encoding, ttl_seconds, expires_at } = record;
  return { key, data, content_type, ...(encoding && { encoding }), ttl_seconds, expires_at };
}

/** Every record of a namespace, in batches that are read when the consumer asks for them. */
export async function* exportRecords(
  deps: HasStore & HasClock,
  actor: Actor,
  namespace: string,
): AsyncGenerator<readonly ExportedRecord[]> {
  for await (const batch of streamRecords(deps, actor, { namespace })) yield batch.map(exportedRecord);
}
