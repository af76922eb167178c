import type { QueryStatus } from '../../protocol/query/outcome.ts';
import { listStatement, statement } from '../engine/statement.ts';
import type { Db } from '../store.ts';
import { BATCH_NUMBERS, decodeBlock, type StoredRow } from './block.ts';
import type { QueryLogBlocksTable } from './tables.ts';

interface Belonging {
  readonly customer_id: string;
  readonly namespace: string;
  readonly status: QueryStatus;
}

/** A row with what it belongs to. */
export interface NewRow extends StoredRow, Belonging {}

const HEAD = statement<object, { last_row: number }>('select last_row from query_log_head where id = 1');

/** The last number of a block: every block up to it is committed, and each later one gets a greater number. */
export async function lastBlock(db: Db): Promise<number> {
  return ((await HEAD.first(db, {}))?.last_row ?? 0) + BATCH_NUMBERS - 1;
}

/** The number before the batch of a row: all blocks of the batch come after it. @param id of the row */
export function beforeBatchOf(id: number): number {
  return id - (id % BATCH_NUMBERS);
}

const NEXT_BLOCKS = statement<
  { after: number; last: number; limit: number },
  { block: number; row_count: number }
>(
  `select block, row_count from query_log_blocks where block > :after and block <= :last
  order by block limit :limit`,
);

const READ_SPAN = listStatement<
  { ids: readonly string[]; after: number; end: number },
  QueryLogBlocksTable & Belonging
>(
  `select q.*, n.customer_id as customer_id, n.name as namespace, s.status from query_log_blocks q
  join query_log_series s on s.id = q.series_id join namespaces n on n.id = s.namespace_id
  where q.block > :after and q.block <= :end and n.closing = 0 and n.customer_id in (:ids) order by q.block`,
  'text',
);

/** Rows in the order in which they were added, of some customers; those of one batch and customer by their ids. */
export interface RowSpan {
  readonly rows: readonly NewRow[];
  /** Read on after this block; null: there is nothing more up to `last`. */
  readonly end: number | null;
}

/**
 * Reads the rows of the blocks after one, up to and including `last`.
 * @param limit rows of all customers that are examined at most, but at least one block
 */
export async function readNewRows(
  db: Db,
  customerIds: readonly string[],
  { after, last, limit }: { readonly after: number; readonly last: number; readonly limit: number },
): Promise<RowSpan> {
  const next = await NEXT_BLOCKS.all(db, { after, last, limit });
  let end: number | null = null;
  let examined = 0;
  for (const { block, row_count } of next) {
    examined += row_count;
    if (end !== null && examined > limit) break;
    end = block;
  }
  if (end === null) return { rows: [], end };
  const blocks = await READ_SPAN.all(db, { ids: customerIds, after, end });
  const rows = blocks.flatMap((block) => {
    const { customer_id, namespace, status } = block;
    return decodeBlock(block).map((row) => ({ ...row, customer_id, namespace, status }));
  });
  return { rows, end };
}

const RESUME_START = statement<{ last: number; looked: number; limit: number }, { block: number | null }>(
  `select max(block) as block from (
    select block, sum(row_count) over (order by block desc) as total from (
      select block, row_count from query_log_blocks where block <= :last order by block desc limit :limit
    ) as newest
  ) as sums where total > :looked`,
);

/** The block after which there are at most `most` rows up to `last`; 0 where there are fewer. */
export async function startOfLast(db: Db, last: number, most: number): Promise<number> {
  return (await RESUME_START.first(db, { last, looked: most, limit: most + 1 }))?.block ?? 0;
}
