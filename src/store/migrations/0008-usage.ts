import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Hourly sums of answered private reads, and the batches that they are made of. */
export async function usage(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  // No foreign key: counts may come after their namespace was deleted, and must not stop the rest of their batch.
  await db.schema
    .createTable('usage_hours')
    .addColumn('namespace_id', 'text', (c) => c.notNull())
    .addColumn('hour', int, (c) => c.notNull())
    .addColumn('answers', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('usage_hours_key', ['namespace_id', 'hour'])
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createTable('usage_batches')
    .addColumn('node', 'text', (c) => c.notNull())
    .addColumn('batch', 'text', (c) => c.notNull())
    .addColumn('added_at', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('usage_batches_key', ['node', 'batch'])
    .modifyEnd(strict)
    .execute();
}
