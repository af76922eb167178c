import { listStatement, statement } from '../engine/statement.ts';
import type { Tx } from '../store.ts';
import { HOUR, MINUTE } from './counts.ts';

/** Rows whose blocks one statement deletes; one block has fewer. */
const DELETE_ROWS = 20_000;

/** Of these blocks those that come first, up to a number of rows. */
function firstBlocks(blocks: string): string {
  return `select block from (
    select block, sum(row_count) over (order by block) as total from (${blocks} limit :limit) as listed
  ) as sums where total <= ${DELETE_ROWS}`;
}

const DELETE_OLDEST = statement<{ before: number; limit: number }, { series_id: number }>(
  `delete from query_log_blocks
  where block in (${firstBlocks('select block, row_count from query_log_blocks order by block')}) and last_at < :before
  returning series_id`,
);

const DELETE_MINUTES = listStatement<{ ids: readonly number[]; last: number }>(
  `delete from query_log_counts where series_id in (:ids) and span = ${MINUTE} and start <= :last`,
  'bigint',
);

const DELETE_DROPPED = statement<{ last: number }>(
  `delete from query_log_counts where span = ${MINUTE} and start <= :last
  and series_id in (select id from query_log_series where status = 'dropped')`,
);

/**
 * Deletes blocks from before a time that are among the `limit` first ones that came, and the counts of the minutes that are over by then. A row
 * that came late goes when the rows that came with it go.
 * @returns how many blocks; 0: there is nothing more to delete now
 */
export async function pruneQueryLog(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await DELETE_OLDEST.all(tx, { before, limit });
  const ids = [...new Set(rows.map(({ series_id }) => series_id))];
  const last = before - MINUTE;
  if (ids.length > 0) await DELETE_MINUTES.run(tx, { ids, last });
  else await DELETE_DROPPED.run(tx, { last });
  return rows.length;
}

const DELETE_HOURS = statement<{ before: number; limit: number }, { series_id: number }>(
  `delete from query_log_counts where span = ${HOUR} and (series_id, start) in (
    select series_id, start from query_log_counts where span = ${HOUR} and start < :before order by start limit :limit
  ) returning series_id`,
);

/** While it is held, no batch finds a split that is about to go. */
const HOLD_HEAD = statement<object>('update query_log_head set last_series = last_series where id = 1');

const DELETE_SPLITS = listStatement<{ ids: readonly number[] }>(
  `delete from query_log_splits where id in (:ids)
  and not exists (select 1 from query_log_counts where series_id = query_log_splits.id)`,
  'bigint',
);

/** Deletes counts of hours before a time, and the splits that have none by then. @returns how many counts */
export async function pruneQueryLogHours(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await DELETE_HOURS.all(tx, { before, limit });
  if (rows.length === 0) return 0;
  await HOLD_HEAD.run(tx, {});
  await DELETE_SPLITS.run(tx, { ids: [...new Set(rows.map(({ series_id }) => series_id))] });
  return rows.length;
}

const BATCH_TABLES = ['query_log_batches', 'usage_batches'] as const;
type BatchTable = (typeof BATCH_TABLES)[number];

const DELETE_BATCHES = Object.fromEntries(
  BATCH_TABLES.map((table) => [
    table,
    statement<{ before: number; limit: number }>(
      `delete from ${table} where (node, batch) in (
        select node, batch from ${table} where added_at < :before order by added_at limit :limit
      )`,
    ),
  ]),
) as Record<BatchTable, ReturnType<typeof statement<{ before: number; limit: number }>>>;

/** Forgets batches that came before a time: none is sent again so late. @returns how many */
export async function pruneBatches(
  tx: Tx,
  table: BatchTable,
  before: number,
  limit: number,
): Promise<number> {
  return DELETE_BATCHES[table].run(tx, { before, limit });
}

const SERIES_OF = statement<{ namespaceId: string }, { id: number }>(
  `select id from query_log_series where namespace_id = :namespaceId
  union all select id from query_log_splits where namespace_id = :namespaceId`,
);

const DELETE_SOME = listStatement<{ ids: readonly number[]; limit: number }>(
  `delete from query_log_blocks
  where block in (${firstBlocks('select block, row_count from query_log_blocks where series_id in (:ids)')})`,
  'bigint',
);

const FIND_BLOCK = listStatement<{ ids: readonly number[] }, { block: number }>(
  'select block from query_log_blocks where series_id in (:ids) limit 1',
  'bigint',
);

const DELETE_SOME_COUNTS = listStatement<{ ids: readonly number[]; limit: number }>(
  `delete from query_log_counts where (series_id, span, start) in (
    select series_id, span, start from query_log_counts where series_id in (:ids) limit :limit
  )`,
  'bigint',
);

const DELETE_COUNTED = (['query_log_series', 'query_log_splits'] as const).map((table) =>
  statement<{ namespaceId: string }>(`delete from ${table} where namespace_id = :namespaceId`),
);

/** Counts that one unit deletes: they are small. */
const DELETE_COUNTS = 10_000;

/** Deletes up to `limit` blocks of a closed namespace, and after the last of them its counts. @returns whether nothing is left */
export async function eraseQueryLog(tx: Tx, namespaceId: string, limit: number): Promise<boolean> {
  const ids = (await SERIES_OF.all(tx, { namespaceId })).map(({ id }) => id);
  if (ids.length === 0) return true;
  await DELETE_SOME.run(tx, { ids, limit });
  if ((await FIND_BLOCK.all(tx, { ids })).length > 0) return false;
  if ((await DELETE_SOME_COUNTS.run(tx, { ids, limit: DELETE_COUNTS })) === DELETE_COUNTS) return false;
  for (const each of DELETE_COUNTED) await each.run(tx, { namespaceId });
  return true;
}
