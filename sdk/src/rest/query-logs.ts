import { wait } from '../shared/wait.ts';
import { ApiError, ConnectionError, TimeoutError, type UqrpError } from './http/errors.ts';
import { type CallOptions, type Http, retryWaitMs } from './http/http.ts';
import { type LineOptions, type StreamEvent, streamEvents } from './http/lines.ts';
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

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Id of the last row that you have: the stream continues after it. */
  readonly after?: string | undefined;
  /** Failed connections in a row after which the stream ends with the error. Default 10. */
  readonly reconnects?: number | undefined;
  /** Milliseconds without a sign of life after which it connects again. The server gives one each 15 s. Default 45,000. */
  readonly silence?: number | undefined;
  /**
   * Called with true when a connection is open, and with false when it was lost and another will be tried. `error`: why; null when the
   * server ended the stream in good order.
   */
  readonly onConnection?: ((isOpen: boolean, error: UqrpError | null) => void) | undefined;
}

const RECONNECTS = 10;
const SILENCE_MS = 45_000;

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

  /**
   * Queries as they are answered. After a lost connection it connects again and continues after the last row. It ends
   * with the session (401), with the signal, or when the consumer stops.
   */
  async *stream(
    filter: StreamFilter = {},
    options: StreamOptions = {},
  ): AsyncGenerator<QueryLogEvent, void, undefined> {
    const { signal = new AbortController().signal, onConnection = () => {} } = options;
    const { reconnects = RECONNECTS, silence = SILENCE_MS } = options;
    let last = options.after;
    let failures = 0;
    for (;;) {
      try {
        const events = await this.#connect(filter, last, { signal, silence });
        onConnection(true, null);
        for await (const event of events) {
          failures = 0;
          if (event.id !== '') last = event.id;
          const said = readEvent(event);
          if (said !== null) yield said;
        }
        // The server ended the stream in good order, for example before a restart.
        onConnection(false, null);
        await wait(retryWaitMs(null, Math.max(1, failures)), signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        failures += 1;
        if (failures > reconnects || !isPassing(error)) throw error;
        onConnection(false, error);
        await wait(retryWaitMs(error, failures), signal);
      }
    }
  }

  async #connect(
    filter: StreamFilter,
    last: string | undefined,
    options: LineOptions,
  ): Promise<AsyncGenerator<StreamEvent, void, undefined>> {
    const resume = last === undefined ? {} : { 'last-event-id': last };
    const headers = { accept: 'text/event-stream', ...resume };
    const parts = {
      method: 'GET',
      path: '/query_logs/stream',
      query: { ...filter },
      headers,
      signal: options.signal,
    } as const;
    return streamEvents(await this.#http.open({ ...parts, retries: 0 }), options);
  }
}

function isPassing(error: unknown): error is UqrpError {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError || error instanceof TimeoutError;
}

/** Null for an event that this version does not know. */
function readEvent({ event, data }: StreamEvent): QueryLogEvent | null {
  const body = parse(data);
  if (typeof body !== 'object' || body === null) return null;
  if (event === 'skipped') {
    const { count } = body as { count?: unknown };
    return { kind: 'skipped', count: typeof count === 'number' ? count : null };
  }
  return 'id' in body && 'timestamp' in body ? { kind: 'row', row: body as QueryLogRow } : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
