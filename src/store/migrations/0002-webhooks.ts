import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Webhooks, their deliveries, where the fan-out stands in the log, and the numbers of customers' events. */
export async function webhooks(db: Kysely<unknown>, types: EngineTypes): Promise<void> {
  await endpoints(db, types);
  await deliveries(db, types);
  await progress(db, types);
}

async function endpoints(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('webhooks')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('events', 'text', (c) => c.notNull())
    .addColumn('namespaces', 'text', (c) => c.notNull())
    .addColumn('enabled', int, (c) => c.notNull())
    .addColumn('failure_count', int, (c) => c.notNull())
    .addColumn('last_triggered_at', int)
    .addColumn('secret_digest', 'text', (c) => c.notNull())
    .addColumn('signing_secret', bytes, (c) => c.notNull())
    .addColumn('starts_after', int, (c) => c.notNull())
    .addColumn('next_due_at', int)
    .addColumn('rests_until', int, (c) => c.notNull())
    .addColumn('claim', 'text')
    .addColumn('claimed_until', int, (c) => c.notNull())
    .addColumn('served_at', int, (c) => c.notNull())
    .addColumn('attempt_minutes', 'text', (c) => c.notNull())
    .addColumn('notice_due_at', int)
    .addColumn('created_at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('webhooks_listing')
    .on('webhooks')
    .columns(['user_id', 'created_at', 'id'])
    .execute();
  // Those that have something to deliver, the one longest without its turn first.
  await sql`create index webhooks_due on webhooks (served_at, id) where next_due_at is not null`.execute(db);
  await sql`create index webhooks_notice on webhooks (notice_due_at) where notice_due_at is not null`.execute(
    db,
  );
}

async function deliveries(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('webhook_id', 'text', (c) => c.notNull().references('webhooks.id').onDelete('cascade'))
    .addColumn('event', 'text', (c) => c.notNull())
    .addColumn('seq', int)
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('response_code', int)
    .addColumn('error', 'text')
    .addColumn('attempts', int, (c) => c.notNull())
    .addColumn('duration_ms', int)
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('last_attempt_at', int)
    .addColumn('next_attempt_at', int)
    .addColumn('body', bytes)
    .modifyEnd(strict)
    .execute();
  await db.schema
    .createIndex('webhook_deliveries_listing')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'created_at', 'id'])
    .execute();
  await sql`create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at, seq)
    where status = 'pending'`.execute(db);
}

async function progress(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('feed_cursors')
    .addColumn('name', 'text', (c) => c.notNull().primaryKey())
    .addColumn('seq', int, (c) => c.notNull())
    .addColumn('at', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
  // What was written before there were webhooks is history, which is not replayed.
  await sql`insert into feed_cursors (name, seq, at) select 'webhooks', seq, 0 from feed_head`.execute(db);
  await db.schema
    .createTable('event_counters')
    .addColumn('user_id', 'text', (c) => c.notNull().primaryKey().references('users.id').onDelete('cascade'))
    .addColumn('seq', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
}
