import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Everything the product began with: accounts, namespaces, records, the change log, shared budgets. */
export async function firstTables(db: Kysely<unknown>, types: EngineTypes): Promise<void> {
  await accounts(db, types);
  await hosted(db, types);
  await feed(db, types);
}

async function accounts(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('email', 'text', (c) => c.notNull().unique())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('tier', 'text', (c) => c.notNull())
    .addColumn('records_count', int, (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('expires_at', int, (c) => c.notNull())
    .addColumn('revoked_at', int)
    .modifyEnd(strict)
    .execute();
  await db.schema.createIndex('sessions_user').on('sessions').column('user_id').execute();
  await db.schema.createIndex('sessions_expiry').on('sessions').column('expires_at').execute();
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull().unique())
    .addColumn('operations', 'text', (c) => c.notNull())
    .addColumn('namespaces', 'text', (c) => c.notNull())
    .addColumn('last_used_at', int)
    .addColumn('expires_at', int)
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('api_keys_listing')
    .on('api_keys')
    .columns(['user_id', 'created_at', 'id'])
    .execute();
  await db.schema
    .createTable('rate_windows')
    .addColumn('key', 'text', (c) => c.notNull().primaryKey())
    .addColumn('started_at', int, (c) => c.notNull())
    .addColumn('count', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
}

async function hosted(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('namespaces')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('public_read', int, (c) => c.notNull())
    .addColumn('suspended', int, (c) => c.notNull())
    .addColumn('records_count', int, (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('updated_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('namespaces_listing')
    .on('namespaces')
    .columns(['user_id', 'created_at', 'id'])
    .execute();
  await db.schema
    .createTable('query_tokens')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('namespace_id', 'text', (c) => c.notNull().references('namespaces.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull().unique())
    .addColumn('expires_at', int, (c) => c.notNull())
    .addColumn('revoked_at', int)
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('query_tokens_listing')
    .on('query_tokens')
    .columns(['namespace_id', 'created_at', 'id'])
    .execute();
  await db.schema
    .createTable('records')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('namespace_id', 'text', (c) => c.notNull().references('namespaces.id').onDelete('cascade'))
    .addColumn('key', 'text', (c) => c.notNull().unique())
    .addColumn('resource', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('data', bytes, (c) => c.notNull())
    .addColumn('content_type', 'text', (c) => c.notNull())
    .addColumn('ttl_seconds', int, (c) => c.notNull())
    .addColumn('expires_at', int)
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('updated_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('records_listing')
    .on('records')
    .columns(['namespace_id', 'created_at', 'id'])
    .execute();
  await sql`create index records_expiry on records (expires_at) where expires_at is not null`.execute(db);
}

async function feed(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('feed_head')
    .addColumn('id', int, (c) => c.notNull().primaryKey())
    .addColumn('seq', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await sql`insert into feed_head (id, seq) values (1, 0)`.execute(db);
  await db.schema
    .createTable('change_log')
    .addColumn('seq', int, (c) => c.notNull().primaryKey())
    .addColumn('at', int, (c) => c.notNull())
    .addColumn('owner', 'text')
    .addColumn('cause', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('namespace', 'text', (c) => c.notNull())
    .addColumn('key', 'text')
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('data', bytes)
    .modifyEnd(strict)
    .execute();
  // Erasure looks only for payloads that are still there.
  await sql`create index change_log_key on change_log (key) where data is not null`.execute(db);
  await sql`create index change_log_namespace on change_log (namespace) where data is not null`.execute(db);
}
