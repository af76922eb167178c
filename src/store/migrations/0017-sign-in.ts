import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/**
 * Codes belong to the flow that asked for them, up to three of an address side by side; browsers from which users have signed in.
 * Codes that wait are lost, ten minutes' worth: their flows would be unknown.
 */
export async function signInFlows(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema.dropTable('sign_in_codes').execute();
  await db.schema
    .createTable('sign_in_codes')
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('slot', int, (c) => c.notNull())
    .addColumn('flow', 'text', (c) => c.notNull().unique())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('network', 'text')
    .addColumn('tries', int, (c) => c.notNull())
    .addColumn('expires_at', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('sign_in_codes_slots', ['address', 'slot'])
    .modifyEnd(strict)
    .execute();
  await db.schema.createIndex('sign_in_codes_expiry').on('sign_in_codes').column('expires_at').execute();
  await db.schema
    .createTable('sign_in_browsers')
    .addColumn('digest', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('expires_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema.createIndex('sign_in_browsers_user').on('sign_in_browsers').column('user_id').execute();
}
