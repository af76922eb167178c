import { randomUpTo, realRandom } from '../../base/chance.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import {
  checkQueryLogBatch,
  type QueryLogBatch,
  type QueryLogRow,
  type QueryLogSink,
} from '../../feed/ports/query-log.ts';
import { markWork } from '../engine/signals.ts';
import { listStatement, rowInsert, statement } from '../engine/statement.ts';
import type { Store, Tx } from '../store.ts';
import { BATCH_NUMBERS, type EncodedRows, encodeBlocks } from './block.ts';
import { countStarts } from './counts.ts';
import { DROPPED, findCounted, type SeriesKey, type SplitKey } from './series.ts';

const HOUR = 3_600_000;

/** How long rows are listed, milliseconds. */
export const QUERY_LOG_WINDOW = LIMITS.queryLogHours * HOUR;

/** @returns an integer from 0 to `most` */
export type RandomUpTo = (most: number) => number;

/** The query log in the database. Rows, their counts and the id of their batch are stored in one unit. */
export function queryLogSink(
  { write }: Pick<Store, 'write'>,
  clock: Clock,
  random: RandomUpTo = (most) => randomUpTo(realRandom, most),
): QueryLogSink {
  return {
    async add(batch) {
      checkQueryLogBatch(batch);
      const now = clock();
      const rows = batch.rows.filter(({ at }) => at > now - QUERY_LOG_WINDOW);
      if (rows.length === 0 && batch.dropped.length === 0) return;
      await write((tx) => addBatch(tx, { ...batch, rows }, now, random));
    },
  };
}

const ADD_BATCH = statement<{ node: string; batch: string; now: number }, { batch: string }>(
  `insert into query_log_batches (node, batch, added_at) values (:node, :batch, :now)
  on conflict (node, batch) do nothing returning batch`,
);

/** A closing unit waits for this lock: it finds every row of its namespace. */
const HOLD_NAMESPACES = listStatement<{ ids: readonly string[] }, { id: string; customer_id: string }>(
  'select id, customer_id from namespaces where closing = 0 and id in (:ids) order by id',
  'text',
  { lock: 'for key share' },
);

/**
 * Takes the numbers of a batch. Holds the row until the unit ends: numbers ascend in the order of commits, and a reader that has one has
 * all before it.
 */
const TAKE_NUMBERS = statement<{ first: number; count: number }, { last_row: number; last_series: number }>(
  `update query_log_head
  set last_row = (case when last_row < :first then :first else last_row + :count end)
  where id = 1 returning last_row, last_series`,
);

const insertBlocks = rowInsert('query_log_blocks', {
  block: 'bigint',
  series_id: 'bigint',
  first_id: 'bigint',
  first_at: 'bigint',
  last_at: 'bigint',
  row_count: 'bigint',
  node: 'text',
  body: 'text',
});

const addCounts = rowInsert(
  'query_log_counts',
  { series_id: 'bigint', span: 'bigint', start: 'bigint', total: 'bigint' },
  'on conflict (series_id, span, start) do update set total = query_log_counts.total + excluded.total',
);

async function addBatch(tx: Tx, sent: QueryLogBatch, now: number, random: RandomUpTo): Promise<void> {
  const { node, batch } = sent;
  if ((await ADD_BATCH.all(tx, { node, batch, now })).length === 0) return;
  const byNamespace = Map.groupBy(sent.rows, ({ namespaceId }) => namespaceId);
  const asked = new Set([...byNamespace.keys(), ...sent.dropped.map(({ namespaceId }) => namespaceId)]);
  const held = await HOLD_NAMESPACES.all(tx, { ids: [...asked] });
  if (held.length === 0) return;
  const open = new Set(held.map(({ id }) => id));
  const taken = await TAKE_NUMBERS.first(tx, { first: now * BATCH_NUMBERS, count: BATCH_NUMBERS });
  const { last_row: start, last_series } = taken!;
  const drafts = held.flatMap(({ id, customer_id }) => draftsOf(byNamespace.get(id) ?? [], customer_id, now));
  const dropped = sent.dropped
    .filter(({ namespaceId }) => open.has(namespaceId))
    .map(
      ({ namespaceId, rows }): Counted => ({ namespaceId, status: DROPPED, first_at: now, row_count: rows }),
    );
  const splits = drafts.flatMap((draft) => splitsOf(draft, node));
  const ids = await findCounted(tx, {
    series: [...drafts, ...dropped],
    splits,
    customers: new Map(held.map(({ id, customer_id }) => [id, customer_id])),
    last: last_series,
  });
  const values = placeIds(drafts, start, random).map(({ draft, firstId }, index) => {
    const { first_at, last_at, row_count, body } = draft;
    return [start + 1 + index, ids.series(draft), firstId, first_at, last_at, row_count, node, body];
  });
  await insertBlocks(tx, values);
  const placed = [...drafts, ...dropped].flatMap((one) =>
    countStarts(one.first_at).map(
      (count): Count => [ids.series(one), count.span, count.start, one.row_count],
    ),
  );
  const split = splits.map((one): Count => [ids.split(one), HOUR, one.hour, one.rows]);
  await addCounts(tx, summed([...placed, ...split]));
  if (values.length > 0) markWork(tx, 'query_log');
}

type Count = [series: number, span: number, start: number, total: number];

/** A block lies within one minute, so all its rows belong to the counts of its first one. */
interface Counted extends SeriesKey {
  readonly first_at: number;
  readonly row_count: number;
}

/** Each series, span and start once. */
function summed(all: readonly Count[]): Count[] {
  const sums = new Map<string, Count>();
  for (const one of all) {
    const key = `${one[0]} ${one[1]} ${one[2]}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, one);
    else sum[3] += one[3];
  }
  return [...sums.values()];
}

interface CountedSplit extends SplitKey {
  readonly hour: number;
  readonly rows: number;
}

/** What a block adds to the splits of its namespace. A refused row has no resource. */
function splitsOf({ namespaceId, first_at, row_count, parts }: Draft, node: string): CountedSplit[] {
  const block = { namespaceId, hour: first_at - (first_at % HOUR) };
  const splits: CountedSplit[] = [{ ...block, kind: 'node', value: node, rows: row_count }];
  for (const { resource, transport, rows } of parts) {
    splits.push({ ...block, kind: 'transport', value: transport, rows });
    if (resource !== null) splits.push({ ...block, kind: 'resource', value: resource, rows });
  }
  return splits;
}

/** A block that has no number yet. */
interface Draft extends EncodedRows, SeriesKey {
  readonly customerId: string;
}

/** @param rows of one namespace */
function draftsOf(rows: readonly QueryLogRow[], customerId: string, now: number): Draft[] {
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  return [...byStatus].flatMap(([status, own]) => {
    const { namespaceId } = own[0]!;
    return encodeBlocks(own, now).map((block) => ({ ...block, namespaceId, customerId, status }));
  });
}

interface Placed {
  readonly draft: Draft;
  readonly firstId: number;
}

/**
 * Gives each block the ids of its rows. They are counted for each customer by itself, and begin and go on at random places: so nobody
 * learns how many rows other customers have, nor an API key how many other namespaces have.
 * @param start the numbers of the batch follow it
 */
function placeIds(drafts: readonly Draft[], start: number, random: RandomUpTo): Placed[] {
  const placed: Placed[] = [];
  for (const own of Map.groupBy(drafts, ({ customerId }) => customerId).values()) {
    let used = 0;
    const free = BATCH_NUMBERS - 1 - own.reduce((sum, { row_count }) => sum + row_count, 0);
    const gaps = own.map(() => random(free)).sort((a, b) => a - b);
    for (const [i, draft] of own.entries()) {
      placed.push({ draft, firstId: start + 1 + gaps[i]! + used });
      used += draft.row_count;
    }
  }
  return placed;
}
