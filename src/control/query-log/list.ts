import { LIMITS } from '../../base/limits.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema } from '../../protocol/input/schema.ts';
import type { QueryStatus } from '../../protocol/query/outcome.ts';
import { QUERY_LOG_WINDOW } from '../../store/query-log/add-rows.ts';
import { countRows, type Interval } from '../../store/query-log/counts.ts';
import { listSeries, readPage, type Series } from '../../store/query-log/page.ts';
import { DROPPED } from '../../store/query-log/series.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { encodePosition, type LogListing, parseLogListing, type RowFilter } from './listing-query.ts';
import { QUERY_LOG_SCHEMA, type QueryLogResource, queryLogResource } from './row.ts';

const HOUR = 3_600_000;

interface QueryLogPage {
  readonly query_logs: readonly QueryLogResource[];
  readonly meta: {
    /** Rows of the last 24 hours that pass the filters. */
    readonly total: number;
    /** Queries of the last 24 hours whose rows were not kept, because a node had too many. */
    readonly dropped: number;
    readonly total_window_hours: number;
    readonly limit: number;
    /** Null on the last page. */
    readonly next_cursor: string | null;
    readonly has_more: boolean;
  };
}

export const QUERY_LOG_PAGE_SCHEMA = resourceSchema<QueryLogPage>('QueryLogPage', {
  query_logs: arrayOf(QUERY_LOG_SCHEMA),
  meta: resourceSchema<QueryLogPage['meta']>('QueryLogPageMeta', {
    total: { ...COUNT, description: 'Rows of the last 24 hours that pass the filters, on all pages' },
    dropped: {
      ...COUNT,
      description:
        'Queries of the last 24 hours whose rows an overloaded node did not keep. Only the filter `namespace` applies',
    },
    total_window_hours: { type: 'integer', examples: [LIMITS.queryLogHours] },
    limit: { type: 'integer', examples: [50] },
    next_cursor: { type: ['string', 'null'], description: 'null on the last page', examples: [null] },
    has_more: { type: 'boolean', examples: [false] },
  }),
});

/** Newest first, of the namespaces that the credential reaches. @throws AppError 400 for the parameters */
export async function pageQueryLog(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  query: QueryParameters,
): Promise<QueryLogPage> {
  const listing = parseLogListing(query);
  const { limit, before } = listing;
  const now = clock();
  const interval = intervalOf(listing, now);
  const all = await listSeries(store.read, actor.customerId);
  const shown = new Map(
    all
      .filter(isKept)
      .filter((one) => isShown(actor, listing, one))
      .map((one) => [one.id, one]),
  );
  const dropped = all.filter((one) => !isKept(one) && isReached(actor, listing, one)).map(({ id }) => id);
  const ids = [...shown.keys()];
  const isEmpty = ids.length === 0 || interval.since >= interval.until;
  const total = isEmpty ? 0 : await countRows(store.read, ids, interval);
  const rows = isEmpty ? [] : await readPage(store.read, ids, { interval, before, limit: limit + 1, now });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const next = last === undefined ? null : encodePosition(last, listing);
  return {
    query_logs: rows.slice(0, limit).map((row) => queryLogResource(row, shown.get(row.series_id)!)),
    meta: {
      total,
      dropped: dropped.length === 0 ? 0 : await countRows(store.read, dropped, intervalOf(WINDOW, now)),
      total_window_hours: LIMITS.queryLogHours,
      limit,
      next_cursor: next,
      has_more: next !== null,
    },
  };
}

/** A series that has rows. */
type KeptSeries = Series & { readonly status: QueryStatus };

function isKept(series: Series): series is KeptSeries {
  return series.status !== DROPPED;
}

function isReached(
  actor: Actor,
  filter: Pick<RowFilter, 'namespace'>,
  { namespace }: Pick<Series, 'namespace'>,
): boolean {
  return reaches(actor, namespace) && (filter.namespace === null || filter.namespace === namespace);
}

/** Whether a list or stream shows the rows of a customer's own series. */
export function isShown(
  actor: Actor,
  filter: RowFilter,
  { namespace, status }: Pick<KeptSeries, 'namespace' | 'status'>,
): boolean {
  return isReached(actor, filter, { namespace }) && (filter.status === null || filter.status === status);
}

type Times = Pick<LogListing, 'since' | 'until'>;

const WINDOW: Times = { since: null, until: null };

/** The last 24 hours, narrowed. No row is later than now: the end is a full hour, so that counts reach it. */
function intervalOf({ since, until }: Times, now: number): Interval {
  const end = (Math.floor(now / HOUR) + 2) * HOUR;
  return { since: Math.max(since ?? 0, now - QUERY_LOG_WINDOW + 1), until: Math.min(until ?? end, end) };
}
