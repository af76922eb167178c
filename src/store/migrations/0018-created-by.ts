import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Who made a query token or a webhook: it ends with their membership. Null for what is older, and for what API keys and the operator make. */
export async function createdBy(db: Kysely<unknown>, _types: EngineTypes): Promise<void> {
  for (const table of ['query_tokens', 'webhooks']) {
    await db.schema.alterTable(table).addColumn('created_by', 'text').execute();
  }
  await sql`create index query_tokens_creator on query_tokens (created_by) where created_by is not null`.execute(
    db,
  );
}
