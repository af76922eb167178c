import { badParameter, type QueryParameters, readParameters } from '../../core/input/query-parameters.ts';
import { LIMITS } from '../../core/limits.ts';
import { foldCase, isLabel } from '../../core/names/labels.ts';
import { NOT_A_TIME, parseTime } from '../../core/text/time.ts';
import { type Actor, reaches } from '../accounts/actor.ts';
import type { Deps } from '../accounts/deps.ts';
import { listNamespaces, type NamespaceRow } from '../store/tables/namespaces.ts';
import { listRecords, type RecordFilter, type RecordRow } from '../store/tables/records.ts';
import { decodeCursor, encodeCursor, type Place } from './cursor.ts';
import { type RecordResource, recordResource } from './record.ts';

/** Records of a page that was asked for by cursor alone. */
const PAGE_DEFAULT = 100;

/** Records read at a time for a listing that is streamed: as few as full ones fill a page of it, and as many as these. */
const BATCH_MIN = 16;
const BATCH_MAX = 200;

/** Octets of a record in JSON beside key and data, at most. */
const FIXED_OCTETS = 450;

const KEY_TEXT = /^[A-Za-z0-9.-]+$/;

/** A listing as it was asked for. */
export interface Listing {
  readonly filter: RecordFilter & { readonly namespace?: string | undefined };
  /** Null: everything, streamed. */
  readonly page: { readonly limit: number; readonly after: Place | null } | null;
}

type Parse = (text: string) => string | number | null;

/** Query parameters of GET /records: what each is read with, and what it must be. */
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

/** Reads the query string. @throws AppError 400 naming the parameter that is unknown, repeated or not what it must be */
export function parseListing(query: QueryParameters): Listing {
  const values: { [P in Parameter]?: ReturnType<(typeof PARAMETERS)[P][0]> & {} } = {};
  for (const [name, text] of Object.entries(readParameters(query, Object.keys(PARAMETERS)))) {
    const [parse, otherwise] = PARAMETERS[name as Parameter];
    const value = parse(text);
    if (value === null) throw badParameter(name, otherwise);
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
  const after = values.cursor === undefined ? null : decodeCursor(values.cursor, filter);
  if (values.cursor !== undefined && after === null) throw badParameter('cursor', PARAMETERS.cursor[1]);
  return { filter, page: { limit: values.limit ?? PAGE_DEFAULT, after } };
}

/** Case is folded, as everywhere in DNS. */
function label(text: string): string | null {
  const lower = foldCase(text);
  return isLabel(lower) ? lower : null;
}

/** A key, or the start of one, with its case folded. */
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

export interface RecordPage {
  /** The records, to be run through once. What was taken is no longer held here. */
  readonly batches: Iterable<readonly RecordResource[]>;
  /** Null on the last page. */
  readonly next: string | null;
}

/** One page of the records within the actor's reach. All of it is read at once, so it shows one state. */
export async function pageRecords(
  deps: Deps,
  actor: Actor,
  filter: Listing['filter'],
  { limit, after }: { readonly limit: number; readonly after: Place | null },
): Promise<RecordPage> {
  const namespaces = await inScope(deps, actor, filter);
  const rows = await readOn(deps, namespaces, filter, after, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  rows.splice(limit);
  return {
    batches: takeBatches(rows),
    next: last === undefined ? null : encodeCursor(placeOf(last), filter),
  };
}

/**
 * Takes rows off the front, in batches of at most `LIMITS.listingPage` octets of JSON. A row holds octets; its Base64 text,
 * a third longer, is made when its batch is asked for.
 */
function* takeBatches(rows: RecordRow[]): Generator<readonly RecordResource[]> {
  while (rows.length > 0) yield resourcesOf(rows.splice(0, fitPage(rows)));
}

function resourcesOf(rows: readonly RecordRow[]): readonly RecordResource[] {
  return rows.map((row) => recordResource(row, row.namespace));
}

/**
 * All records within the actor's reach, in pages of at most `LIMITS.listingPage` octets. The next page is read when it is
 * asked for: a reader that stops reading costs one page.
 */
export async function* streamRecords(
  deps: Deps,
  actor: Actor,
  filter: Listing['filter'],
): AsyncGenerator<readonly RecordResource[]> {
  const namespaces = await inScope(deps, actor, filter);
  let after: Place | null = null;
  for (let batch = BATCH_MIN; ; ) {
    const rows: RecordRow[] = await readOn(deps, namespaces, filter, after, batch);
    const fitting = fitPage(rows);
    if (fitting > 0) yield resourcesOf(rows.slice(0, fitting));
    if (fitting === rows.length && rows.length < batch) return;
    after = placeOf(rows[fitting - 1]!);
    batch = fitting < rows.length ? Math.max(BATCH_MIN, fitting) : Math.min(BATCH_MAX, batch * 2);
  }
}

/** How many of these records, in order, a page holds: one at least, where there is one. */
function fitPage(rows: readonly RecordRow[]): number {
  let octets = 0;
  const end = rows.findIndex((row, index) => {
    octets += FIXED_OCTETS + row.key.length + Math.ceil(row.data.length / 3) * 4;
    return octets > LIMITS.listingPage && index > 0;
  });
  return end < 0 ? rows.length : end;
}

/** The customer's namespaces that the listing runs through, by name. */
async function inScope(
  { store }: Deps,
  actor: Actor,
  { namespace }: Listing['filter'],
): Promise<NamespaceRow[]> {
  const all = await listNamespaces(store.read, actor.customerId);
  return all.filter(
    ({ name, records_count }) =>
      records_count > 0 && reaches(actor, name) && (namespace === undefined || name === namespace),
  );
}

/**
 * Up to `count` records after `after`, in the order of namespace, time and id. Small namespaces are read together, so that
 * many of them do not cost a statement each.
 */
async function readOn(
  { store, clock }: Deps,
  namespaces: readonly NamespaceRow[],
  filter: RecordFilter,
  after: Place | null,
  count: number,
): Promise<RecordRow[]> {
  const rows: RecordRow[] = [];
  const names = new Map(namespaces.map(({ id, name }) => [id, name]));
  const rest = namespaces.filter(({ name }) => after === null || name >= after.namespace);
  while (rest.length > 0 && rows.length < count) {
    const room = count - rows.length;
    const place = after?.namespace === rest[0]!.name ? after : null;
    const group = place === null ? takeSmall(rest, room) : [rest.shift()!];
    const ids = group.map(({ id }) => id);
    let found = await listRecords(store.read, ids, filter, place, room + 1, clock());
    if (found.length > room && group.length > 1) {
      // One of them has grown since it was counted: the first is read by itself.
      rest.unshift(...group.slice(1));
      found = await listRecords(store.read, ids.slice(0, 1), filter, null, room, clock());
    }
    const named = found.map((row) => ({ ...row, namespace: names.get(row.namespace_id)! }));
    // Statements order by time and id; the namespace comes first.
    rows.push(
      ...named
        .sort((a, b) => (a.namespace === b.namespace ? 0 : a.namespace < b.namespace ? -1 : 1))
        .slice(0, room),
    );
  }
  return rows;
}

/** Takes the first namespaces off the list: as many as have `room` records together, and one at least. */
function takeSmall(rest: NamespaceRow[], room: number): NamespaceRow[] {
  let records = 0;
  const end = rest.findIndex(({ records_count }, index) => {
    records += records_count;
    return records > room && index > 0;
  });
  return rest.splice(0, end < 0 ? rest.length : end);
}

function placeOf(row: RecordRow): Place {
  return { namespace: row.namespace, createdAt: row.created_at, id: row.id };
}
