import { eventsOf, parsedData, type StreamOptions } from './http/events.ts';
import { type CallOptions, type Http, patienceFor } from './http/http.ts';

/** One change of a record or namespace. It never has the data. */
export interface ChangeResource {
  /** The place after this change. */
  readonly cursor: string;
  readonly event:
    | 'record.upserted'
    | 'record.deleted'
    | 'record.expired'
    | 'namespace.upserted'
    | 'namespace.closing'
    | 'namespace.deleted';
  readonly at: string;
  readonly namespace: string;
  /** Of a record. */
  readonly key?: string;
  /** Of a record that was written: its `ETag` after that write. */
  readonly etag?: string;
}

/** Changes are missing: read everything again. What follows comes after `cursor`. */
export interface ChangesReset {
  readonly event: 'reset';
  readonly reason: 'too_old' | 'other_store';
  readonly cursor: string;
}

export interface ChangesFilter {
  /** A cursor, `next` of a page, or what `onWritten` was called with. Without it: from the present end on. */
  readonly since?: string | undefined;
  readonly namespace?: string | undefined;
  /** Also records that went with their namespace. */
  readonly cascade?: boolean | undefined;
}

export interface ChangesPageFilter extends ChangesFilter {
  /** Seconds to wait for the first change, 0 to 55. */
  readonly wait?: number | undefined;
  /** 1 to 500. */
  readonly limit?: number | undefined;
}

export interface ChangesPage {
  readonly changes: readonly ChangeResource[];
  /** The place after this page, for `since`. */
  readonly next: string;
  readonly has_more: boolean;
}

export class Changes {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async page(filter: ChangesPageFilter, options: CallOptions): Promise<ChangesPage> {
    const query = { ...filter };
    const parts = {
      method: 'GET',
      path: '/changes',
      query,
      ...patienceFor(filter.wait),
      ...options,
    } as const;
    return (await this.#http.json<ChangesPage>(parts)).body;
  }

  async *follow(
    filter: ChangesFilter,
    options: StreamOptions,
  ): AsyncGenerator<ChangeResource | ChangesReset, void, undefined> {
    const begin = async (signal: AbortSignal): Promise<string> =>
      (await this.page({}, { signal, retries: 0 })).next;
    const target = {
      path: '/changes/stream',
      query: { ...filter },
      last: undefined,
      begin: filter.since === undefined ? begin : undefined,
    };
    for await (const { event, data } of eventsOf(this.#http, target, options)) {
      const body = parsedData(data);
      if (typeof body !== 'object' || body === null || !('cursor' in body)) continue;
      if (event === 'reset') yield { event, ...body } as ChangesReset;
      else if (event === 'message') yield body as ChangeResource;
    }
  }
}
