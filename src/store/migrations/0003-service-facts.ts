import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Facts about the database as a whole. `epoch` identifies this database: no two databases have the same one. */
export async function serviceFacts(db: Kysely<unknown>, { strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('service_facts')
    .addColumn('name', 'text', (c) => c.notNull().primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await sql`insert into service_facts (name, value) values ('epoch', ${randomUUID()})`.execute(db);
}
