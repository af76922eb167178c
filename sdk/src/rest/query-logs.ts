import { eventsOf, parsedData, type StreamOptions } from './http/events.ts';
import type { CallOptions, Http } from './http/http.ts';
import type { StreamEvent } from './http/lines.ts';
import { Listing, type Page } from './http/pages.ts';

/** Answered with data; empty; empty because the record has expired; failed; refused. */
export type QueryStatus = 'hit' | 'miss' | 'expired' | 'error' | 'refused';

/** One query over UDP, TCP or TLS. It never says the name, a parameter, the token or an address. */
export interface QueryLogRow {
  readonly id: string;
  readonly timestamp: string;
  readonly namespace: string;
  readonly resource: string | null;
  readonly version: string | null;
  readonly operation: 'get' | 'info' | 'geoip' | 'manifest' | 'identity';
  readonly qtype: string;
  readonly status: QueryStatus;
  readonly rcode: string;
  readonly transport: 'udp' | 'tcp' | 'dot' | 'doh';
  readonly node: string;
  readonly duration_ms: number;
}

export interface QueryLogFilter {
  readonly namespace?: string | undefined;
  readonly status?: QueryStatus | undefined;
  readonly since?: string | Date | undefined;
  readonly until?: string | Date | undefined;
}

export interface QueryLogListOptions extends CallOptions {
  /** Rows for each request, 1 to 100. */
  readonly limit?: number | undefined;
}

export interface QueryLogMeta {
  /** Rows of the last `total_window_hours` that fit the filter. */
  readonly total: number;
  /** Queries of the same hours whose rows an overloaded node did not keep. Only the filter `namespace` applies. */
  readonly dropped: number;
  readonly total_window_hours: number;
  readonly limit: number;
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}

export interface QueryLogPage extends Page<QueryLogRow> {
  readonly meta: QueryLogMeta;
}

export type QueryLogEvent =
  | { readonly kind: 'row'; readonly row: QueryLogRow }
  /** Rows were left out, because more came than the stream sends in a second: so many, or null if nobody counted. */
  | { readonly kind: 'skipped'; readonly count: number | null };

export interface StreamFilter {
  readonly namespace?: string | undefined;
  readonly status?: QueryStatus | undefined;
}

export interface LogStreamOptions extends StreamOptions {
  /** Id of the last row that you have: the stream continues after it. */
  readonly after?: string | undefined;
}

export interface QueryCountsOptions {
  /** `24h` unless given. */
  readonly window?: '24h' | '7d' | '30d' | undefined;
  readonly step?: '10m' | '1h' | '6h' | '1d' | undefined;
  /** `status` unless given. */
  readonly group?: 'status' | 'namespace' | 'resource' | 'transport' | 'node' | undefined;
  readonly namespace?: string | undefined;
  /** Only with groups of status or namespace. */
  readonly status?: QueryStatus | undefined;
}

/** `GET /query_logs/counts`: how many queries there were, in steps of time. */
export interface QueryCounts {
  readonly window: '24h' | '7d' | '30d';
  readonly step: '10m' | '1h' | '6h' | '1d';
  readonly step_seconds: number;
  readonly group: 'status' | 'namespace' | 'resource' | 'transport' | 'node';
  /** Where the first step begins. */
  readonly since: string;
  readonly until: string;
  readonly total: number;
  readonly dropped: number;
  readonly groups: readonly QueryCountGroup[];
}

export interface QueryCountGroup {
  /** Null: all others together. */
  readonly key: string | null;
  readonly total: number;
  /** Null: hours are not kept for twice the window. */
  readonly trend: QueryCountTrend | null;
  /** One for each step. */
  readonly counts: readonly number[];
}

/** Full hours alone, so that both sides are as long. */
export interface QueryCountTrend {
  readonly total: number;
  readonly before: number;
}

export class QueryLogs {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Newest first, read in pages while they are iterated. `page()` gives one page with its `meta`. */
  list(filter: QueryLogFilter = {}, options: QueryLogListOptions = {}): Listing<QueryLogRow, QueryLogPage> {
    const { limit, ...call } = options;
    return new Listing<QueryLogRow, QueryLogPage>(async (cursor) => {
      const query = { ...filter, limit, cursor };
      const parts = { method: 'GET', path: '/query_logs', query, ...call } as const;
      const { body } = await this.#http.json<{ query_logs: QueryLogRow[]; meta: QueryLogMeta }>(parts);
      return { items: body.query_logs, next: body.meta.next_cursor, meta: body.meta };
    });
  }

  /** How many queries there were, in steps of time. */
  async counts(counts: QueryCountsOptions = {}, options: CallOptions = {}): Promise<QueryCounts> {
    const parts = { method: 'GET', path: '/query_logs/counts', query: { ...counts }, ...options } as const;
    return (await this.#http.json<QueryCounts>(parts)).body;
  }

  /**
   * Queries as they are answered. After a lost connection it connects again and continues after the last row. It ends
   * with the session (401), with the signal, or when the consumer stops.
   */
  async *stream(
    filter: StreamFilter = {},
    options: LogStreamOptions = {},
  ): AsyncGenerator<QueryLogEvent, void, undefined> {
    const target = { path: '/query_logs/stream', query: { ...filter }, last: options.after };
    for await (const event of eventsOf(this.#http, target, options)) {
      const said = readEvent(event);
      if (said !== null) yield said;
    }
  }
}

/** Null for an event that this version does not know. */
function readEvent({ event, data }: StreamEvent): QueryLogEvent | null {
  const body = parsedData(data);
  if (typeof body !== 'object' || body === null) return null;
  if (event === 'skipped') {
    const { count } = body as { count?: unknown };
    return { kind: 'skipped', count: typeof count === 'number' ? count : null };
  }
  return 'id' in body && 'timestamp' in body ? { kind: 'row', row: body as QueryLogRow } : null;
}
