import { listStatement, statement } from '../engine/statement.ts';
import type { Db } from '../store.ts';
import { BLOCK_SPAN, decodeBlock, type EncodedBlock, type StoredRow } from './block.ts';
import { type Interval, MINUTE } from './counts.ts';
import type { SeriesStatus } from './tables.ts';

/** The rows of one namespace and status. */
export interface Series {
  readonly id: number;
  readonly namespace: string;
  readonly status: SeriesStatus;
}

const LIST_SERIES = statement<{ customerId: string }, Series>(
  `select s.id, n.name as namespace, s.status from namespaces n
  join query_log_series s on s.namespace_id = n.id where n.customer_id = :customerId and n.closing = 0`,
  { named: true },
);

/** The series of a customer's namespaces. */
export async function listSeries(db: Db, customerId: string): Promise<Series[]> {
  return LIST_SERIES.all(db, { customerId });
}

/** A row and its place in the order: the newest first, and of one millisecond the one that was added last. */
export interface LogPosition {
  readonly at: number;
  readonly id: number;
}

interface PageOptions {
  readonly interval: Interval;
  /** Rows before it in time; null: from the newest on. */
  readonly before: LogPosition | null;
  readonly limit: number;
  /** Milliseconds since the epoch; few rows are later. */
  readonly now: number;
}

/** What the index tells of a block. */
interface BlockKey {
  readonly block: number;
  readonly first_at: number;
  readonly last_at: number;
  readonly row_count: number;
}

const KEY = 'block, first_at, last_at, row_count';

/** The newest times in which `START` counts, milliseconds before its end. */
const LOOK_BACK = { near: 10 * MINUTE, far: 120 * MINUTE } as const;

/** The latest minute from which on the counts have enough rows for the page; null where they have fewer since then. */
function newestMinute(since: ':near' | ':far'): string {
  return `(select max(start) from (
    select start, sum(sum(total)) over (order by start desc) as later from query_log_counts
    where series_id in (:ids) and span = ${MINUTE} and start >= ${since} and start < :counted_until group by start
  ) as minutes where later >= :limit)`;
}

/**
 * A time from which on the series have enough rows for the page, or the beginning of the interval. A page over very many series reads
 * little of each then, also right after many rows came: before PostgreSQL has analyzed the table, it sorts all blocks from there on.
 * Materialized: else PostgreSQL expects to look for it once for each series.
 */
const START = `with page_start as materialized (
  select coalesce(${newestMinute(':near')}, ${newestMinute(':far')}, :since) as since
)`;

/** Blocks that may have rows on both sides of the page's first place. All of them are read. */
const AROUND = `select ${KEY}, 1 as around from query_log_blocks
  where series_id in (:ids) and last_at >= :at and last_at < :around_until and first_at <= :at`;

/** Blocks that lie wholly after it, the newest of each series: each has a row for the page. */
const BEYOND = `last_at >= (select since from page_start) and last_at < :at order by last_at desc, block desc limit :limit`;

const LIST_BLOCKS = listStatement<
  {
    ids: readonly number[];
    at: number;
    around_until: number;
    since: number;
    near: number;
    far: number;
    counted_until: number;
    limit: number;
  },
  BlockKey & { around: 0 | 1 }
>(
  `${START} ${AROUND} union all select * from (
    select ${KEY}, 0 from json_each(:ids) s cross join query_log_blocks b on b.block in (
      select block from query_log_blocks where series_id = s.value and ${BEYOND}
    ) order by last_at desc, block desc limit :limit
  ) as beyond order by around desc, last_at desc, block desc`,
  'bigint',
  {
    named: true,
    postgres: `${START} ${AROUND} union all select * from (
      select ${KEY}, 0 from unnest(cast(:ids as bigint[])) s (value) cross join lateral (
        select ${KEY} from query_log_blocks where series_id = s.value and ${BEYOND}
      ) b order by last_at desc, block desc limit :limit
    ) as beyond order by around desc, last_at desc, block desc`,
  },
);

const READ_BLOCKS = listStatement<{ ids: readonly number[] }, EncodedBlock>(
  'select block, series_id, first_id, first_at, node, body from query_log_blocks where block in (:ids)',
  'bigint',
  { named: true },
);

/** Newest first. */
export async function readPage(
  db: Db,
  series: readonly number[],
  { interval, before, limit, now }: PageOptions,
): Promise<StoredRow[]> {
  // An id is above 0, so this excludes every row at `until`.
  const { at, id } = before ?? { at: interval.until, id: 0 };
  // The minute of now is counted in whole where the page has no end within it.
  const end = Math.min(interval.until, at, startOfMinute(now) + MINUTE);
  const countedUntil = startOfMinute(end);
  const keys = await LIST_BLOCKS.all(db, {
    ids: series,
    at,
    around_until: at + BLOCK_SPAN,
    since: interval.since,
    near: Math.max(interval.since, countedUntil - LOOK_BACK.near),
    far: Math.max(interval.since, countedUntil - LOOK_BACK.far),
    counted_until: countedUntil,
    limit,
  });
  const around = keys.filter((key) => key.around === 1);
  const beyond = keys.slice(around.length);
  const ids = [...around, ...beyond.slice(0, blocksFor(beyond, limit))].map(({ block }) => block);
  const blocks = await READ_BLOCKS.all(db, { ids });
  return blocks
    .flatMap((block) => decodeBlock(block))
    .filter((row) => row.at >= interval.since && (row.at < at || (row.at === at && row.id < id)))
    .sort((a, b) => b.at - a.at || b.id - a.id)
    .slice(0, limit);
}

function startOfMinute(at: number): number {
  return at - (at % MINUTE);
}

/** How many of these blocks have the newest `wanted` rows for certain. @param blocks by their last rows, the newest first */
function blocksFor(blocks: readonly BlockKey[], wanted: number): number {
  for (let count = 1; count < blocks.length; count++) {
    // No block that is left out has a later row.
    const { last_at: rest } = blocks[count]!;
    let later = 0;
    for (const { first_at, last_at, row_count } of blocks.slice(0, count)) {
      if (first_at > rest) later += row_count;
      else if (last_at > rest) later++;
    }
    if (later >= wanted) return count;
  }
  return blocks.length;
}
