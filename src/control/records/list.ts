import { foldCase, isLabel } from '../../core/labels.ts';
import { LIMITS } from '../../core/limits.ts';
import { badParameter, type QueryParameters, readParameters } from '../../core/query-parameters.ts';
import { NOT_A_TIME, parseTime } from '../../core/time.ts';
import { type Actor, reaches } from '../accounts/actor.ts';
import type { Deps } from '../accounts/deps.ts';
import { listNamespaces, type NamespaceRow } from '../store/namespaces.ts';
import { listRecords, type RecordFilter, type RecordRow } from '../store/records.ts';
import { decodeCursor, encodeCursor, type Place } from './cursor.ts';
import { type RecordResource, recordResource } from './record.ts';

/** Records of a page that was asked for by cursor alone. */
const PAGE_DEFAULT = 100;

/** Records read at a time for a listing that is streamed: some 700 kB of JSON when all are of full size. */
const STREAM_BATCH = 200;

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

function integer(text: string): number | null {
  return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

function pageLimit(text: string): number | null {
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMITS.pageRecordsMax ? limit : null;
}

export interface RecordPage {
  readonly records: readonly RecordResource[];
  /** Null on the last page. */
  readonly next: string | null;
}

/** One page of the records within the actor's reach. */
export async function pageRecords(
  deps: Deps,
  actor: Actor,
  filter: Listing['filter'],
  { limit, after }: { readonly limit: number; readonly after: Place | null },
): Promise<RecordPage> {
  const namespaces = await inScope(deps, actor, filter);
  const rows = await readOn(deps, namespaces, filter, after, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    records: rows.slice(0, limit).map((row) => recordResource(row, row.namespace)),
    next: last === undefined ? null : encodeCursor(placeOf(last), filter),
  };
}

/** All records within the actor's reach, batch by batch: memory stays the same however many there are. */
export async function* streamRecords(
  deps: Deps,
  actor: Actor,
  filter: Listing['filter'],
): AsyncGenerator<readonly RecordResource[]> {
  const namespaces = await inScope(deps, actor, filter);
  let after: Place | null = null;
  for (;;) {
    const rows: RecordRow[] = await readOn(deps, namespaces, filter, after, STREAM_BATCH);
    if (rows.length > 0) yield rows.map((row) => recordResource(row, row.namespace));
    if (rows.length < STREAM_BATCH) return;
    after = placeOf(rows.at(-1)!);
  }
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

/** Up to `count` records after `after`, namespace by namespace. */
async function readOn(
  { store, clock }: Deps,
  namespaces: readonly NamespaceRow[],
  filter: RecordFilter,
  after: Place | null,
  count: number,
): Promise<RecordRow[]> {
  const rows: RecordRow[] = [];
  for (const { id, name } of namespaces) {
    if (after !== null && name < after.namespace) continue;
    if (rows.length === count) break;
    const place = after?.namespace === name ? after : null;
    const more = await listRecords(store.read, id, filter, place, count - rows.length, clock());
    for (const row of more) rows.push({ ...row, namespace: name });
  }
  return rows;
}

function placeOf(row: RecordRow): Place {
  return { namespace: row.namespace, createdAt: row.created_at, id: row.id };
}
