import type { QueryLogEvent, QueryLogPage, QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { mergeRows, ROWS_MAX } from './row-list.ts';

/** What the page holds of the log. Every change makes a new one. */
export interface LogState {
  /** The newest first. */
  readonly rows: readonly QueryLogRow[];
  /** Rows that came while the reader was looking at older ones. They are not above the table yet. */
  readonly held: readonly QueryLogRow[];
  /** How many came so; more than `held` when it is full. */
  readonly heldCount: number;
  /** Rows that the stream left out and counted. */
  readonly skipped: number;
  /** Rows are missing that nobody counted. */
  readonly hasGap: boolean;
  readonly isPaused: boolean;
  /** The page after the oldest row; null: there is none; undefined: nothing was read yet. */
  readonly next: string | null | undefined;
  /** Rows of the last 24 hours that fit the filters of the server, when the first page was read. */
  readonly total: number;
  /** Queries whose rows a node could not keep. */
  readonly dropped: number;
}

export const EMPTY_LOG: LogState = {
  rows: [],
  held: [],
  heldCount: 0,
  skipped: 0,
  hasGap: false,
  isPaused: false,
  next: undefined,
  total: 0,
  dropped: 0,
};

/** The first page was read, for the first time or behind what is shown. */
export function withFirstPage(state: LogState, page: QueryLogPage): LogState {
  const { total, dropped } = page.meta;
  const read = { ...state, total, dropped };
  const newest = state.rows[0];
  const oldestRead = page.items.at(-1);
  const doesMeet =
    newest === undefined ||
    page.next === null ||
    (oldestRead !== undefined && Number(oldestRead.id) <= Number(newest.id));
  if (state.next === undefined || !doesMeet) return withoutOlder(read, page);
  return withRows(
    read,
    page.items.filter((row) => newest === undefined || Number(row.id) > Number(newest.id)),
  );
}

/** The page takes the place of everything: between it and the rows from before there may be others. */
function withoutOlder(state: LogState, page: QueryLogPage): LogState {
  const isFirst = state.next === undefined;
  return {
    ...state,
    // Live rows may have come before the first page was there.
    rows: isFirst ? mergeRows(state.rows, page.items) : [...page.items],
    held: [],
    heldCount: 0,
    skipped: 0,
    hasGap: false,
    next: page.next,
  };
}

/** Starts again with the first page: the list of the server has what the stream left out. */
export function withReload(state: LogState, page: QueryLogPage): LogState {
  const { total, dropped } = page.meta;
  return withoutOlder({ ...state, rows: [], next: undefined, total, dropped }, page);
}

/** The page after the oldest row. */
export function withOlderPage(state: LogState, page: QueryLogPage): LogState {
  return { ...state, rows: mergeRows(state.rows, page.items), next: page.next };
}

/** Whether another page fits. */
export function mayReadOlder({ rows, next }: LogState): boolean {
  return typeof next === 'string' && rows.length < ROWS_MAX;
}

/** What came over the stream. */
export function withEvents(state: LogState, events: readonly QueryLogEvent[]): LogState {
  const rows: QueryLogRow[] = [];
  let { skipped, hasGap } = state;
  for (const event of events) {
    if (event.kind === 'row') rows.push(event.row);
    else if (event.count === null) hasGap = true;
    else skipped += event.count;
  }
  return withRows({ ...state, skipped, hasGap }, rows);
}

function withRows(state: LogState, rows: readonly QueryLogRow[]): LogState {
  if (!state.isPaused) return { ...state, rows: mergeRows(state.rows, rows) };
  const known = new Set(state.held.map(({ id }) => id));
  const fresh = rows.filter(({ id }) => !known.has(id));
  return {
    ...state,
    held: mergeRows(state.held, fresh),
    heldCount: state.heldCount + fresh.length,
  };
}

export function withPause(state: LogState, isPaused: boolean): LogState {
  if (isPaused === state.isPaused) return state;
  if (isPaused) return { ...state, isPaused };
  return { ...state, isPaused, rows: mergeRows(state.rows, state.held), held: [], heldCount: 0 };
}
