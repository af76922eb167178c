import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** What a lease is about, how long the last attempt took, and work on a webhook that later units of work finish. */
export async function webhookTurns(db: Kysely<unknown>, { int }: EngineTypes): Promise<void> {
  await db.schema.alterTable('webhooks').addColumn('claimed_delivery', 'text').execute();
  await db.schema.alterTable('webhooks').addColumn('last_attempt_ms', int).execute();
  await db.schema.alterTable('webhooks').addColumn('cleanup', 'text').execute();
  await db.schema.alterTable('webhooks').addColumn('disabled_by', 'text').execute();
  await sql`drop index webhooks_due`.execute(db);
  // `store/webhooks/due-webhooks.ts` spells both expressions and the condition the same way: only then an engine uses the index.
  await sql`create index webhooks_turn on webhooks (
    (case when last_attempt_ms >= 1000 then 1 else 0 end),
    (case when next_due_at >= rests_until and next_due_at >= claimed_until then next_due_at
      when rests_until >= claimed_until then rests_until else claimed_until end),
    user_id
  ) where enabled = 1 and next_due_at is not null`.execute(db);
  await sql`create index webhooks_cleanup on webhooks (id) where cleanup is not null`.execute(db);
}
