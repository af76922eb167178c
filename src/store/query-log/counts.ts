import { listStatement } from '../engine/statement.ts';
import type { Db } from '../store.ts';
import { BLOCK_SPAN, countInBlock } from './block.ts';

export const MINUTE = 60_000;
export const HOUR = 3_600_000;

/** Counts are kept for both: a day of a series is 23 hours, at most 118 minutes and two parts of minutes. */
const SPANS = [MINUTE, HOUR] as const;

/** The counts that a row at this time belongs to. */
export function countStarts(at: number): readonly { readonly span: number; readonly start: number }[] {
  return SPANS.map((span) => ({ span, start: at - (at % span) }));
}

/** From `since` on, before `until`, milliseconds since the epoch. */
export interface Interval {
  readonly since: number;
  readonly until: number;
}

type Ids = readonly number[];

/** The places of an interval in a count, as its parameters are named. */
const PLACES = ['first', 'last'] as const;

/** What a count adds up, for the intervals of each kind. A kind has at most as many as there are places. */
const KINDS = {
  /** Blocks that lie wholly in the interval. */
  rows: (at: string) => `select sum(row_count) from query_log_blocks where series_id in (:ids)
    and last_at >= :${at}_since and last_at < :${at}_until and first_at >= :${at}_since`,
  minutes: (at: string) => sumOfCounts(at, MINUTE),
  hours: (at: string) => sumOfCounts(at, HOUR),
} as const;

function sumOfCounts(at: string, span: number): string {
  return `select sum(total) from query_log_counts where series_id in (:ids)
    and span = ${span} and start >= :${at}_since and start < :${at}_until`;
}

/** Blocks that have rows on both sides of the beginning of the interval. */
function cutBlocks(at: string): string {
  return `select block, first_at, body, cast(null as numeric) as total from query_log_blocks where series_id in (:ids)
    and last_at >= :${at}_since and last_at < :${at}_until and first_at < :${at}_since`;
}

type Searched = Readonly<Record<'cut' | keyof typeof KINDS, readonly Interval[]>>;

/**
 * One statement, since each is a round trip to PostgreSQL. The sums are subqueries of one row each: PostgreSQL would start processes for
 * the parts of a union, which takes longer than the search.
 */
function countStatement(searched: Searched) {
  const sums = (['rows', 'minutes', 'hours'] as const).flatMap((kind) =>
    searched[kind].map((_, i) => `coalesce((${KINDS[kind](`${kind}_${PLACES[i]}`)}), 0)`),
  );
  const cuts = searched.cut.map((_, i) => cutBlocks(`cut_${PLACES[i]}`));
  const total = `select cast(null as bigint) as block, cast(null as bigint) as first_at, null as body, ${sums.join(' + ')} as total`;
  return listStatement<
    { ids: Ids } & Readonly<Record<string, unknown>>,
    { block: null; total: number } | { block: number; first_at: number; body: string }
  >([...cuts, total].join(' union all '), 'bigint', { named: true });
}

/** By the numbers of intervals: at most 54. */
const COUNTS = new Map<string, ReturnType<typeof countStatement>>();

/** How many rows the series have in the interval: whole hours and minutes from the counts, the rest from the blocks. */
export async function countRows(db: Db, series: Ids, interval: Interval): Promise<number> {
  if (!isSome(interval)) return 0;
  // No block is on both sides of the beginning of a minute.
  const cuts = [interval.since, interval.until].filter((at) => at % MINUTE !== 0);
  const searched = { ...split(interval), cut: cuts.map((at) => ({ since: at, until: at + BLOCK_SPAN })) };
  const parameters: Record<string, number> = {};
  for (const [kind, intervals] of Object.entries(searched)) {
    for (const [i, { since, until }] of intervals.entries()) {
      parameters[`${kind}_${PLACES[i]}_since`] = since;
      parameters[`${kind}_${PLACES[i]}_until`] = until;
    }
  }
  const key = Object.values(searched)
    .map((intervals) => intervals.length)
    .join();
  const count = COUNTS.get(key) ?? countStatement(searched);
  COUNTS.set(key, count);
  let total = 0;
  const cut = new Set<number>();
  for (const row of await count.all(db, { ids: series, ...parameters })) {
    if (row.block === null) total += row.total;
    else if (!cut.has(row.block)) {
      cut.add(row.block);
      total += countInBlock(row, interval);
    }
  }
  return total;
}

/** The parts of an interval: none overlaps another, none is empty, together they are the interval. */
export function split(
  interval: Interval,
): Readonly<Record<'rows' | 'minutes' | 'hours', readonly Interval[]>> {
  const [inMinutes, rows] = inside(interval, MINUTE);
  const [hours, minutes] = inMinutes.flatMap((part) => [inside(part, HOUR)])[0] ?? [[], []];
  return { rows, minutes, hours };
}

/** The multiple of `span` inside the interval, and what is left on both sides of it. */
function inside({ since, until }: Interval, span: number): readonly [whole: Interval[], rest: Interval[]] {
  const first = Math.ceil(since / span) * span;
  const end = Math.floor(until / span) * span;
  if (first >= end) return [[], [{ since, until }].filter(isSome)];
  const rest = [
    { since, until: first },
    { since: end, until },
  ];
  return [[{ since: first, until: end }], rest.filter(isSome)];
}

function isSome({ since, until }: Interval): boolean {
  return since < until;
}
