import type { QueryLogFilter, QueryLogRow, QueryStatus, StreamFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { STATUSES } from './time-buckets.ts';

export const TRANSPORTS: readonly QueryLogRow['transport'][] = ['udp', 'tcp', 'dot'];

/** What is shown. Every field stands in the address of the page, so that a link shows the same. */
export interface Filters {
  readonly namespace: string | null;
  readonly status: QueryStatus | null;
  readonly node: string | null;
  readonly transport: QueryLogRow['transport'] | null;
  /** ISO 8601. */
  readonly since: string | null;
  readonly until: string | null;
}

export const NO_FILTERS: Filters = {
  namespace: null,
  status: null,
  node: null,
  transport: null,
  since: null,
  until: null,
};

/** Reads the query of an address. What is not understood is left out: somebody may have typed it. */
export function readFilters(query: URLSearchParams): Filters {
  return {
    namespace: text(query.get('namespace')),
    status: STATUSES.find((status) => status === query.get('status')) ?? null,
    node: text(query.get('node')),
    transport: TRANSPORTS.find((transport) => transport === query.get('transport')) ?? null,
    since: time(query.get('since')),
    until: time(query.get('until')),
  };
}

/** The query of the address, with a leading `?`, or nothing. */
export function writeFilters(filters: Filters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value !== null) query.set(name, value);
  const written = query.toString();
  return written === '' ? '' : `?${written}`;
}

/** The part that the server applies to a list. The rest is applied here. */
export function listFilter({ namespace, status, since, until }: Filters): QueryLogFilter {
  return {
    ...(namespace === null ? {} : { namespace }),
    ...(status === null ? {} : { status }),
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
  };
}

export function streamFilter({ namespace, status }: Filters): StreamFilter {
  return { ...(namespace === null ? {} : { namespace }), ...(status === null ? {} : { status }) };
}

export function fits(row: QueryLogRow, filters: Filters): boolean {
  const { namespace, status, node, transport, since, until } = filters;
  const at = Date.parse(row.timestamp);
  return (
    (namespace === null || row.namespace === namespace) &&
    (status === null || row.status === status) &&
    (node === null || row.node === node) &&
    (transport === null || row.transport === transport) &&
    (since === null || at >= Date.parse(since)) &&
    (until === null || at < Date.parse(until))
  );
}

/** Whether some rows are left out that the server sent. */
export function filtersHere({ node, transport }: Filters): boolean {
  return node !== null || transport !== null;
}

export function countFilters(filters: Filters): number {
  return Object.values(filters).filter((value) => value !== null).length;
}

function text(value: string | null): string | null {
  return value === null || value === '' || value.length > 64 ? null : value;
}

function time(value: string | null): string | null {
  if (value === null || Number.isNaN(Date.parse(value))) return null;
  return new Date(value).toISOString();
}
