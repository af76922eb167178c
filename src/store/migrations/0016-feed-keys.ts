import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Hourly keys of the feed, encrypted. A row is deleted when its key must not be read any more. */
export async function feedKeys(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('feed_keys')
    .addColumn('period', int, (c) => c.notNull().primaryKey())
    .addColumn('secret', bytes, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
}
