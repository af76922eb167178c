import type { QueryStatus } from '../../protocol/query/outcome.ts';

/** Queries of the last 24 hours, many in a row. No column can hold a name, parameter, token or address. */
export interface QueryLogBlocksTable {
  /** Ascends in the order in which blocks are committed (`query-log/add-rows.ts`). It counts the blocks of all customers: never show it. */
  block: number;
  series_id: number;
  /** Id of the first row; the others follow it. Unique for a customer. */
  first_id: number;
  first_at: number;
  /** Of the same minute as `first_at`, and less than two seconds later. */
  last_at: number;
  row_count: number;
  node: string;
  /** JSON (`query-log/block.ts`). */
  body: string;
}

/** One row, id 1. */
export interface QueryLogHeadTable {
  id: number;
  /** The numbers of the last batch follow it, up to 2,047 more. */
  last_row: number;
  last_series: number;
}

/** `dropped`: rows that nodes did not keep; they are counted alone. */
export type SeriesStatus = QueryStatus | 'dropped';

/** A series is the rows of one namespace and status. */
export interface QueryLogSeriesTable {
  id: number;
  namespace_id: string;
  status: SeriesStatus;
}

export const SPLIT_KINDS = ['resource', 'transport', 'node'] as const;
export type SplitKind = (typeof SPLIT_KINDS)[number];

/** What the hours of a namespace are counted by, besides its series. */
export interface QueryLogSplitsTable {
  /** Of the numbers of series: no series has it. */
  id: number;
  namespace_id: string;
  kind: SplitKind;
  /** `*`: all values that have no split of their own. */
  value: string;
}

/** How many rows a series has in a minute and in an hour, and a split in an hour. Hours are kept for longer than rows. */
export interface QueryLogCountsTable {
  /** Of a series or a split. */
  series_id: number;
  /** Milliseconds: 60,000 or 3,600,000. */
  span: number;
  /** A multiple of `span`. */
  start: number;
  total: number;
}
