import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Passkeys of users, and the challenges that were used (docs/adr/0028-passkeys.md). */
export async function passkeys(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('passkeys')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('credential_id', 'text', (c) => c.notNull().unique())
    .addColumn('public_key', bytes, (c) => c.notNull())
    .addColumn('sign_count', int, (c) => c.notNull())
    .addColumn('transports', 'text', (c) => c.notNull())
    .addColumn('backed_up', int, (c) => c.notNull())
    .addColumn('last_used_at', int)
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('passkeys_listing')
    .on('passkeys')
    .columns(['user_id', 'created_at', 'id'])
    .execute();
  await db.schema
    .createTable('used_challenges')
    .addColumn('digest', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('expires_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('used_challenges_user')
    .on('used_challenges')
    .columns(['user_id', 'expires_at'])
    .execute();
  await db.schema
    .createIndex('used_challenges_expiry')
    .on('used_challenges')
    .columns(['expires_at', 'digest'])
    .execute();
}
