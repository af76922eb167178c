import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** How many seconds caches may keep an answer of the namespace while it is open. */
export async function namespaceTtl(db: Kysely<unknown>, { int }: EngineTypes): Promise<void> {
  await db.schema
    .alterTable('namespaces')
    .addColumn('max_ttl', int, (c) => c.notNull().defaultTo(60))
    .execute();
}
