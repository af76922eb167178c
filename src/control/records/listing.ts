import { LIMITS } from '../../base/limits.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import { resourceSchema } from '../../protocol/input/schema.ts';
import { listNamespaces, type NamespaceRow } from '../../store/namespaces.ts';
import { listTogether, type RecordPosition, readSpan } from '../../store/record-listing.ts';
import type { RecordRow, RecordsTable } from '../../store/records.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { encodeListing, type ListingFilter, type ListingPosition } from './listing-query.ts';
import { PLAIN, RECORD_SCHEMA, type RecordResource, recordResource } from './shapes.ts';

/** Records of one statement of a stream. The first number fills a page with full records. */
const BATCH_MIN = 16;
const BATCH_MAX = 200;

/** Largest number of octets of a record in JSON without key and data. */
const FIXED_OCTETS = 450;

export interface RecordPage {
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
  return pageOf(rows, last === undefined ? null : encodeListing(positionOf(last), filter));
}

export function pageOf(rows: RecordRow[], next: string | null): RecordPage {
  return { isSmall: fitPage(rows) === rows.length, batches: takeBatches(rows), next };
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
export async function inScope(
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
export function countSmall(namespaces: readonly NamespaceRow[], room: number): number {
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
