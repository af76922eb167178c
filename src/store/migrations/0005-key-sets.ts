import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** The signing keys of each zone, their private parts encrypted. */
export async function keySets(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('dnssec_key_sets')
    .addColumn('zone', 'text', (c) => c.notNull().primaryKey())
    .addColumn('version', int, (c) => c.notNull())
    .addColumn('document', 'text', (c) => c.notNull())
    .addColumn('updated_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
}
