import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Tables whose `user_id` means the owner of the row. */
const OWNED = ['namespaces', 'api_keys', 'webhooks', 'event_counters', 'idempotency_keys'] as const;

/**
 * Splits `users`: a customer owns, a user signs in. Each user becomes the owner of a customer with the same id, so every row that
 * referenced the user references that customer now.
 *
 * `users` is renamed and not copied, because renaming lets the references of other tables follow on both engines.
 */
export async function customers(db: Kysely<unknown>, types: EngineTypes): Promise<void> {
  await sql`alter table users rename to customers`.execute(db);
  if (types.engine === 'postgres') {
    await sql`alter table customers rename constraint users_pkey to customers_pkey`.execute(db);
  }
  await people(db, types);
  if (types.engine === 'postgres') await alterCustomers(db, types);
  else await rebuildCustomers(db, types);
  for (const table of OWNED) {
    await sql`alter table ${sql.table(table)} rename column user_id to customer_id`.execute(db);
  }
  await sessions(db, types);
}

/** The new `users`, and who belongs to which customer. */
async function people(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('email', 'text', (c) => c.notNull().unique())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await sql`insert into users (id, email, role, created_at)
    select id, email, role, created_at from customers`.execute(db);
  await db.schema
    .createTable('memberships')
    .addColumn('customer_id', 'text', (c) => c.notNull().references('customers.id').onDelete('cascade'))
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('memberships_key', ['customer_id', 'user_id'])
    .modifyEnd(strict)
    .execute();
  await db.schema.createIndex('memberships_user').on('memberships').column('user_id').execute();
  await sql`insert into memberships (customer_id, user_id, role, created_at)
    select id, id, 'owner', created_at from customers`.execute(db);
}

async function alterCustomers(db: Kysely<unknown>, { int }: EngineTypes): Promise<void> {
  await db.schema
    .alterTable('customers')
    .dropColumn('email')
    .dropColumn('role')
    .addColumn('name', 'text')
    .addColumn('closing', int, (c) => c.notNull().defaultTo(0))
    .execute();
}

/**
 * SQLite cannot drop a column that is UNIQUE, so the table is made again (sqlite.org/lang_altertable.html, section 7). Foreign keys
 * are off during migrations: with them `drop table` would delete every row that references a customer.
 */
async function rebuildCustomers(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('customers_new')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('tier', 'text', (c) => c.notNull())
    .addColumn('records_count', int, (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('name', 'text')
    .addColumn('closing', int, (c) => c.notNull().defaultTo(0))
    .modifyEnd(strict)
    .execute();
  await sql`insert into customers_new (id, tier, records_count, created_at)
    select id, tier, records_count, created_at from customers`.execute(db);
  await sql`drop table customers`.execute(db);
  await sql`alter table customers_new rename to customers`.execute(db);
}

/** A session is a user's, and acts for one customer. Nothing references sessions, so both engines get a new table. */
async function sessions(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await sql`alter table sessions rename to sessions_old`.execute(db);
  await sql`drop index sessions_user`.execute(db);
  await sql`drop index sessions_expiry`.execute(db);
  await db.schema
    .createTable('sessions')
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('customer_id', 'text', (c) => c.notNull().references('customers.id').onDelete('cascade'))
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('expires_at', int, (c) => c.notNull())
    .addColumn('revoked_at', int)
    .addPrimaryKeyConstraint('sessions_key', ['id'])
    .modifyEnd(strict)
    .execute();
  await sql`insert into sessions (id, user_id, customer_id, created_at, expires_at, revoked_at)
    select id, user_id, user_id, created_at, expires_at, revoked_at from sessions_old`.execute(db);
  await sql`drop table sessions_old`.execute(db);
  await db.schema.createIndex('sessions_user').on('sessions').column('user_id').execute();
  await db.schema.createIndex('sessions_customer').on('sessions').column('customer_id').execute();
  await db.schema.createIndex('sessions_expiry').on('sessions').column('expires_at').execute();
}
