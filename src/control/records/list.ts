import { LIMITS } from '../../core/limits.ts';
import { type Actor, reaches } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import type { RecordsTable } from '../store/schema.ts';
import { listNamespaces, type NamespaceRow } from '../store/tables/namespaces.ts';
import { listTogether, type RecordPosition, readSpan } from '../store/tables/record-listing.ts';
import type { RecordRow } from '../store/tables/records.ts';
import { encodePosition, type ListingFilter, type ListingPosition } from './listing-query.ts';
import { type RecordResource, recordResource } from './record.ts';

/** Records that a streamed listing reads at a time: the first number fills a page with records of the largest size. */
const BATCH_MIN = 16;
const BATCH_MAX = 200;

/** Octets of a record in JSON beside key and data, at most. */
const FIXED_OCTETS = 450;

export interface RecordPage {
  /** The records. They can be iterated once; a batch that was taken is no longer referenced. */
  readonly batches: Iterable<readonly RecordResource[]>;
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
}

/** One page of the records that the actor may read. It is read at once, before the first batch is taken. */
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
    batches: takeBatches(rows),
    next: last === undefined ? null : encodePosition(positionOf(last), filter),
  };
}

/**
 * Removes rows from the front, in batches of at most `LIMITS.listingPage` octets of JSON. Base64 is a third longer than the octets
 * of a row, so it is encoded when its batch is taken.
 */
function* takeBatches(rows: RecordRow[]): Generator<readonly RecordResource[]> {
  while (rows.length > 0) yield resourcesOf(rows.splice(0, fitPage(rows)));
}

function resourcesOf(rows: readonly RecordRow[]): readonly RecordResource[] {
  return rows.map((row) => recordResource(row, row.namespace));
}

/**
 * All records that the actor may read, in pages of at most `LIMITS.listingPage` octets. It reads the next page when the consumer
 * asks for it, so a consumer that stops costs one page.
 */
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

/** How many of these records, in order, fit into a page; at least one, unless there is none. */
function fitPage(rows: readonly RecordRow[]): number {
  let octets = 0;
  const end = rows.findIndex((row, index) => {
    octets += FIXED_OCTETS + row.key.length + Math.ceil(row.data.length / 3) * 4;
    return octets > LIMITS.listingPage && index > 0;
  });
  return end < 0 ? rows.length : end;
}

/** The customer's namespaces that the listing covers, by name. */
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

/**
 * Up to `count` records after `after`, in the order of namespace, time of creation and id. Small namespaces are read together:
 * otherwise each of many would cost a statement.
 */
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

/** Up to `count` records of one namespace after `start`, in statements of bounded work. */
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

/** @returns null when the namespaces now have more than `count` records that match: one has grown since it was counted */
async function readTogether(
  { store, clock }: HasStore & HasClock,
  namespaces: readonly NamespaceRow[],
  filter: ListingFilter,
  count: number,
): Promise<RecordRow[] | null> {
  const names = new Map(namespaces.map(({ id, name }) => [id, name]));
  const found = await listTogether(store.read, [...names.keys()], filter, count + 1, clock());
  if (found.length > count) return null;
  // The statement orders by time and id. The sort is stable, so both stay the order within a namespace.
  return found
    .map((row) => ({ ...row, namespace: names.get(row.namespace_id)! }))
    .sort((a, b) => (a.namespace === b.namespace ? 0 : a.namespace < b.namespace ? -1 : 1));
}

/** How many of the first namespaces have `room` records together; at least one. */
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
