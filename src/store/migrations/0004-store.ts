import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/**
 * Namespaces that are being deleted; how far the log was erased; names that sort by bytes. The last is for PostgreSQL, whose
 * databases may sort by the rules of a language: the same names are compared in JavaScript, and both must agree.
 */
export async function storeUnits(db: Kysely<unknown>, { int, byteOrder }: EngineTypes): Promise<void> {
  await db.schema
    .alterTable('namespaces')
    .addColumn('closing', int, (c) => c.notNull().defaultTo(0))
    .execute();
  await sql`create index namespaces_closing on namespaces (id) where closing = 1`.execute(db);
  // From the beginning: what earlier releases left in the log is erased too.
  await sql`insert into feed_cursors (name, seq, at) values ('erasure', 0, 0)`.execute(db);
  if (byteOrder !== null) {
    await sql`alter table namespaces alter column name type text ${byteOrder}`.execute(db);
  }
}
