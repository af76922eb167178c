import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Sign-in by code, keys that sign tokens, the search for customers that are being deleted, and what a list of sessions shows. */
export async function signIn(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('sign_in_codes')
    .addColumn('address', 'text', (c) => c.notNull().primaryKey())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('tries', int, (c) => c.notNull())
    .addColumn('expires_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema.createIndex('sign_in_codes_expiry').on('sign_in_codes').column('expires_at').execute();
  await db.schema
    .createTable('jwt_keys')
    .addColumn('period', int, (c) => c.notNull().primaryKey())
    .addColumn('kid', 'text', (c) => c.notNull().unique())
    .addColumn('public_key', 'text', (c) => c.notNull())
    .addColumn('private_key', bytes, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await sql`create index customers_closing on customers (id) where closing = 1`.execute(db);
  // Before this migration only the command line began sessions.
  await db.schema
    .alterTable('sessions')
    .addColumn('method', 'text', (c) => c.notNull().defaultTo('cli'))
    .execute();
  await db.schema.alterTable('sessions').addColumn('last_used_at', int).execute();
}
