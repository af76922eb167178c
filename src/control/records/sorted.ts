import type { Actor } from '../../http/actor.ts';
import type { NamespaceRow } from '../../store/namespaces.ts';
import { type RecordFilter, SPAN } from '../../store/record-listing.ts';
import {
  type OrderedRecord,
  type OrderPosition,
  orderPositionOf,
  type RecordSort,
  readByIds,
  readOrdered,
  readOrderedTogether,
} from '../../store/record-order.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { countSmall, inScope, pageOf, type RecordPage } from './listing.ts';
import { encodeOrdered, type ListingFilter, MATCHES, type Match, type OrderedPage } from './listing-query.ts';

/** A page of a listing with `sort` or `q`. */
interface SortedPage extends RecordPage {
  /** Null: there is no `q`, or nothing matches it. */
  readonly matched: Match | null;
}

type Deps = HasStore & HasClock;

/** A page in an order across namespaces. Of each group of namespaces, it reads no more positions than the page has. */
export async function pageSorted(
  deps: Deps,
  actor: Actor,
  filter: ListingFilter,
  page: OrderedPage,
): Promise<SortedPage> {
  const { limit } = page;
  // One record has any order, and in that of keys it is found in an index.
  const sort = filter.key === undefined ? page.sort : 'key';
  const all = await inScope(deps, actor, {});
  const { matched, narrow } = await readMatch(deps, all, filter, page);
  let best: OrderedRecord[] = [];
  if (narrow !== null) {
    for await (const rows of ordered(deps, namedIn(all, narrow), sort, narrow, page.after, limit + 1)) {
      best = best
        .concat(rows)
        .sort(compareBy(sort))
        .slice(0, limit + 1);
    }
  }
  const last = best.length > limit ? best[limit - 1]! : null;
  const ids = best.slice(0, limit).map(({ id }) => id);
  const byId = new Map((await readByIds(deps.store.read, ids)).map((row) => [row.id, row]));
  const names = new Map(all.map(({ id, name }) => [id, name]));
  const rows = ids.flatMap((id) => {
    const row = byId.get(id);
    return row === undefined ? [] : [{ ...row, namespace: names.get(row.namespace_id)! }];
  });
  const next = last === null ? null : encodeOrdered(orderPositionOf(sort, last), matched, filter, page);
  return { ...pageOf(rows, next), matched };
}

/** What is left of the records by `q`; null: nothing. */
interface Matched {
  readonly matched: Match | null;
  readonly narrow: ListingFilter | null;
}

/** Tries what `q` may be, unless the page before knew. In order of keys, each is a range of an index. */
async function readMatch(
  deps: Deps,
  namespaces: readonly NamespaceRow[],
  filter: ListingFilter,
  { q, matched }: OrderedPage,
): Promise<Matched> {
  if (q === undefined) return { matched, narrow: filter };
  if (matched !== null) return { matched, narrow: narrowed(filter, q, matched) };
  for (const match of MATCHES) {
    const narrow = narrowed(filter, q, match);
    if (narrow === null) continue;
    for await (const rows of ordered(deps, namedIn(namespaces, narrow), 'key', narrow, null, 1)) {
      if (rows.length > 0) return { matched: match, narrow };
    }
  }
  return { matched: null, narrow: null };
}

/** @returns null when the filters beside `q` leave nothing */
function narrowed(filter: ListingFilter, q: string, match: Match): ListingFilter | null {
  if (match === 'key_prefix') {
    const { keyPrefix = '' } = filter;
    if (q.startsWith(keyPrefix)) return { ...filter, keyPrefix: q };
    return keyPrefix.startsWith(q) ? filter : null;
  }
  const own = filter[match];
  return own === undefined || own === q ? { ...filter, [match]: q } : null;
}

function namedIn(namespaces: readonly NamespaceRow[], { namespace }: ListingFilter): readonly NamespaceRow[] {
  return namespace === undefined ? namespaces : namespaces.filter(({ name }) => name === namespace);
}

/** The first records of each namespace in the order, or of several small ones together. */
async function* ordered(
  { store, clock }: Deps,
  namespaces: readonly NamespaceRow[],
  sort: RecordSort,
  filter: RecordFilter,
  after: OrderPosition | null,
  count: number,
): AsyncGenerator<readonly OrderedRecord[]> {
  for (let at = 0; at < namespaces.length; ) {
    const group = namespaces.slice(at, at + countSmall(namespaces.slice(at), SPAN));
    at += group.length;
    if (group.length > 1) {
      const ids = group.map(({ id }) => id);
      yield await readOrderedTogether(store.read, ids, sort, filter, after, count, clock());
      continue;
    }
    let start = after;
    let room = count;
    do {
      const { rows, next } = await readOrdered(store.read, group[0]!.id, sort, filter, start, room, clock());
      yield rows;
      room -= rows.length;
      start = next;
    } while (start !== null && room > 0);
  }
}

function compareBy(sort: RecordSort): (a: OrderedRecord, b: OrderedRecord) => number {
  const sign = sort.startsWith('-') ? -1 : 1;
  const compare = <T>(a: T, b: T): number => (a === b ? 0 : a < b ? -1 : 1);
  if (sort.endsWith('key')) return (a, b) => sign * compare(a.key, b.key);
  return (a, b) => sign * (compare(a.updated_at, b.updated_at) || compare(a.id, b.id));
}
