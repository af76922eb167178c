import type { Transport } from '../../base/network/transport.ts';
import type { Query } from '../../protocol/names/query-name.ts';
import type { QueryStatus } from '../../protocol/query/outcome.ts';

/**
 * How a query was allowed to read. `operator`: the namespaces of the operator, which are counted in metrics alone.
 * `none`: it was refused, or nobody checked because its answer holds no data.
 */
export type ReadKind = 'operator' | 'open' | 'private' | 'none';

/** A query whose outcome is known. */
export interface TaggedQuestion {
  readonly query: Query;
  /** Null: the view has no such namespace. The same work is done for it, so that time does not tell. */
  readonly namespaceId: string | null;
  readonly reading: ReadKind;
  readonly status: QueryStatus;
}

/** What one worker has counted of one namespace since its last hand-over. */
export interface Account {
  readonly namespaceId: string;
  /** False for the account of names that belong to no namespace: it is never handed over. */
  readonly isSomebody: boolean;
  /** Private answers with data. */
  answers: number;
  /** Rows recorded, how many of them are of queries without a valid token, and rows for which there was no room. */
  rows: number;
  tokenless: number;
  dropped: number;
  /** Whether the next hand-over knows of it. */
  isListed: boolean;
  /** Place in the hand-over that is being written. */
  place: number;
}

/**
 * What a reply is counted as: made once with the reply and kept in its cache entry. An object and not a number of a
 * table: it lives as long as an entry or a row refers to it, so it can never come to mean something else.
 */
export interface Tag {
  /** Null for `operator`. */
  readonly account: Account | null;
  /** Position in `QUERY_STATUSES`. */
  readonly status: number;
  readonly isMetered: boolean;
  /** Nobody showed a valid token for it. */
  readonly isTokenless: boolean;
  /** Position in `OPERATIONS`. */
  readonly operation: number;
  readonly qtype: number;
  readonly rcode: number;
  /** One label each of an authorised query, else empty. */
  readonly resource: string;
  readonly version: string;
}

/** Counts the product queries of one worker. It knows no client and no name. Methods must not throw. */
export interface Accounting {
  /** @param isFailure the reply is SERVFAIL, whatever the outcome was */
  tagOf(
    asked: TaggedQuestion,
    reply: { readonly rcode: number; readonly isFailure: boolean },
    qtype: number,
  ): Tag;
  /** One whole reply was made. On the hot path: allocates nothing. @param now milliseconds since the epoch */
  record(tag: Tag, transport: Transport, now: number, durationMs: number): void;
}
