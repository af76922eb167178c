import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Rows of the query log, their counts, the batches that they came in, and usage of deleted namespaces. */
export async function queryLog(db: Kysely<unknown>, types: EngineTypes): Promise<void> {
  await rows(db, types);
  await counts(db, types);
  await batches(db, types);
  await deletedUsage(db, types);
}

async function rows(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  // One row: the last id that was given to a row and to a series.
  await db.schema
    .createTable('query_log_head')
    .addColumn('id', int, (c) => c.notNull().primaryKey())
    .addColumn('last_row', int, (c) => c.notNull())
    .addColumn('last_series', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await (db as Kysely<{ query_log_head: { id: number; last_row: number; last_series: number } }>)
    .insertInto('query_log_head')
    .values({ id: 1, last_row: 0, last_series: 0 })
    .execute();
  await db.schema
    .createTable('query_log_series')
    .addColumn('id', int, (c) => c.notNull().primaryKey())
    .addColumn('namespace_id', 'text', (c) => c.notNull().references('namespaces.id'))
    .addColumn('status', 'text', (c) => c.notNull())
    .addUniqueConstraint('query_log_series_key', ['namespace_id', 'status'])
    .modifyEnd(strict)
    .execute();
  // No foreign key: PostgreSQL would check it for each row. The unit that deletes a series deletes its rows before.
  await db.schema
    .createTable('query_log')
    .addColumn('id', int, (c) => c.notNull().primaryKey())
    .addColumn('series_id', int, (c) => c.notNull())
    .addColumn('at', int, (c) => c.notNull())
    .addColumn('resource', 'text')
    .addColumn('version', 'text')
    .addColumn('operation', 'text', (c) => c.notNull())
    .addColumn('qtype', int, (c) => c.notNull())
    .addColumn('rcode', int, (c) => c.notNull())
    .addColumn('transport', 'text', (c) => c.notNull())
    .addColumn('node', 'text', (c) => c.notNull())
    .addColumn('duration_ms', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('query_log_series_at')
    .on('query_log')
    .columns(['series_id', 'at', 'id'])
    .execute();
}

async function counts(db: Kysely<unknown>, { int, clustered }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('query_log_counts')
    .addColumn('series_id', int, (c) => c.notNull())
    .addColumn('span', int, (c) => c.notNull())
    .addColumn('start', int, (c) => c.notNull())
    .addColumn('total', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('query_log_counts_key', ['series_id', 'span', 'start'])
    .modifyEnd(clustered)
    .execute();
}

async function batches(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('query_log_batches')
    .addColumn('node', 'text', (c) => c.notNull())
    .addColumn('batch', 'text', (c) => c.notNull())
    .addColumn('added_at', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('query_log_batches_key', ['node', 'batch'])
    .modifyEnd(strict)
    .execute();
  for (const table of ['query_log_batches', 'usage_batches']) {
    await db.schema.createIndex(`${table}_age`).on(table).column('added_at').execute();
  }
}

async function deletedUsage(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('usage_deleted_hours')
    .addColumn('customer_id', 'text', (c) => c.notNull().references('customers.id').onDelete('cascade'))
    .addColumn('hour', int, (c) => c.notNull())
    .addColumn('answers', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('usage_deleted_hours_key', ['customer_id', 'hour'])
    .modifyEnd(strict)
    .execute();
  await db.schema.createIndex('usage_hours_age').on('usage_hours').column('hour').execute();
}
