import type { Kysely } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Answers that are given again to a repeated POST (docs/adr/0014-idempotency-keys.md). */
export async function idempotency(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('answer', bytes, (c) => c.notNull())
    .addColumn('octets', int, (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('idempotency_keys_user')
    .on('idempotency_keys')
    .columns(['user_id', 'octets'])
    .execute();
  await db.schema
    .createIndex('idempotency_keys_age')
    .on('idempotency_keys')
    .columns(['created_at', 'id'])
    .execute();
}
