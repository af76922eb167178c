import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/**
 * Rows of the query log in blocks: a row of its own for each query cost more than to answer it. The rows of the former table were of
 * the last 24 hours, for display alone, and of no released version: they are not carried over.
 */
export async function queryLogBlocks(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema.dropTable('query_log').execute();
  await sql`delete from query_log_counts`.execute(db);
  // Numbers of a batch begin at a multiple of 2048, after all ids that a client may have.
  await sql`update query_log_head set last_row = (last_row / 2048 + 1) * 2048`.execute(db);
  // No foreign key: PostgreSQL would check it for each block. The unit that deletes a series deletes its blocks before.
  await db.schema
    .createTable('query_log_blocks')
    .addColumn('block', int, (c) => c.notNull().primaryKey())
    .addColumn('series_id', int, (c) => c.notNull())
    .addColumn('first_id', int, (c) => c.notNull())
    .addColumn('first_at', int, (c) => c.notNull())
    .addColumn('last_at', int, (c) => c.notNull())
    .addColumn('row_count', int, (c) => c.notNull())
    .addColumn('node', 'text', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  // Pages and counts read keys of blocks from it alone.
  await db.schema
    .createIndex('query_log_blocks_series')
    .on('query_log_blocks')
    .columns(['series_id', 'last_at', 'block', 'first_at', 'row_count'])
    .execute();
}
