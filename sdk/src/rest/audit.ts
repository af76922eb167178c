import type {
  AuditAction,
  AuditActorKind,
  AuditObjectKind,
  AuditOutcome,
} from '../../../src/protocol/audit.ts';
import type { CallOptions, Http } from './http/http.ts';
import { readLines } from './http/lines.ts';
import { Listing, type Page } from './http/pages.ts';

export type { AuditAction, AuditActorKind, AuditObjectKind, AuditOutcome };

export interface AuditActor {
  readonly kind: AuditActorKind;
  readonly id: string | null;
  /** At that time; `deleted user` once the account is gone. */
  readonly name: string | null;
}

export interface AuditedObject {
  readonly kind: AuditObjectKind | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly namespace: string | null;
  /** Of several records, or of refusals that have no rows of their own. */
  readonly count: number | null;
  /** Only of `operator.public_read` and `operator.suspended`: switched on or off. */
  readonly on?: boolean;
}

/** Who did what. It never holds a payload, a token, a code, an address or a user agent. */
export interface AuditRow {
  readonly id: string;
  readonly at: string;
  /** `X-Request-Id` of the answer; null: no request. */
  readonly request_id: string | null;
  readonly actor: AuditActor;
  readonly action: AuditAction;
  readonly outcome: AuditOutcome;
  readonly object: AuditedObject;
  readonly etag_before: string | null;
  readonly etag_after: string | null;
  /** A cursor of the feed of changes, for `since`. */
  readonly seq: string | null;
}

export interface AuditFilter {
  readonly since?: string | Date | undefined;
  readonly until?: string | Date | undefined;
  /** A kind, an id, the address of a user or the name of an API key. */
  readonly actor?: string | undefined;
  /** An action, or a group of them: `record.*`. */
  readonly action?: string | undefined;
  readonly namespace?: string | undefined;
  readonly key?: string | undefined;
}

export interface AuditListOptions extends CallOptions {
  /** Rows for each request, 1 to 100. */
  readonly limit?: number | undefined;
}

/** For owners, with a customer token. */
export class Audit {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Newest first, read in pages while they are iterated. */
  list(filter: AuditFilter = {}, options: AuditListOptions = {}): Listing<AuditRow, Page<AuditRow>> {
    const { limit, ...call } = options;
    return new Listing<AuditRow, Page<AuditRow>>(async (cursor) => {
      const query = { ...filter, limit, cursor };
      const parts = { method: 'GET', path: '/audit', query, ...call } as const;
      const { body } = await this.#http.json<{ audit: AuditRow[]; meta: { next_cursor: string | null } }>(
        parts,
      );
      return { items: body.audit, next: body.meta.next_cursor };
    });
  }

  /** All rows, newest first, read while they arrive. Throws when the answer was cut off. */
  async *export(
    filter: AuditFilter = {},
    options: CallOptions = {},
  ): AsyncGenerator<AuditRow, void, undefined> {
    const headers = { accept: 'application/x-ndjson, application/json' };
    const parts = {
      method: 'GET',
      path: '/audit/export',
      query: { ...filter },
      headers,
      ...options,
    } as const;
    const response = await this.#http.open(parts);
    for await (const line of readLines(response, options.signal)) yield line as AuditRow;
  }
}
