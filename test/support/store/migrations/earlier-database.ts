import { DatabaseSync } from 'node:sqlite';
import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Pool } from 'pg';
import { firstTables } from '../../../../src/store/migrations/0001-first-tables.ts';
import { webhooks } from '../../../../src/store/migrations/0002-webhooks.ts';
import { serviceFacts } from '../../../../src/store/migrations/0003-service-facts.ts';
import { storeUnits } from '../../../../src/store/migrations/0004-store.ts';
import { keySets } from '../../../../src/store/migrations/0005-key-sets.ts';
import { idempotency } from '../../../../src/store/migrations/0006-idempotency.ts';
import { webhookTurns } from '../../../../src/store/migrations/0007-webhooks.ts';
import { usage } from '../../../../src/store/migrations/0008-usage.ts';
import { ENGINE_TYPES } from '../../../../src/store/migrations/engine-types.ts';
import { handleProps, readerExecute, SqliteConnection } from '../../../../src/store/sqlite/driver.ts';

const STEPS = {
  '0001-first-tables': firstTables,
  '0002-webhooks': webhooks,
  '0003-service-facts': serviceFacts,
  '0004-store': storeUnits,
  '0005-key-sets': keySets,
  '0006-idempotency': idempotency,
  '0007-webhooks': webhookTurns,
  '0008-usage': usage,
};

export type EarlierRows = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

const at = { created_at: 100, updated_at: 200 };
const counted = { records_count: 1, ...at };
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const hook = {
  url: 'https://a.test/',
  events: '[]',
  namespaces: '[]',
  enabled: 1,
  failure_count: 2,
  last_triggered_at: 7,
  secret_digest: 'd',
  signing_secret: bytes('s'),
  starts_after: 1,
  next_due_at: 900,
  rests_until: 0,
  claim: null,
  claimed_until: 0,
  served_at: 5,
  attempt_minutes: '[]',
  notice_due_at: null,
  created_at: 100,
};

/** Rows of two customers in every table that the customers' migration changes, and in those that reference them. */
export const EARLIER_ROWS: EarlierRows = {
  users: [
    { id: 'ann', email: 'ann@example.org', role: 'user', tier: 'pro', records_count: 2, created_at: 10 },
    { id: 'bob', email: 'bob@example.org', role: 'admin', tier: 'free', records_count: 0, created_at: 20 },
  ],
  sessions: [
    { id: 's1', user_id: 'ann', created_at: 30, expires_at: 9e15, revoked_at: null },
    { id: 's2', user_id: 'bob', created_at: 31, expires_at: 9e15, revoked_at: 32 },
  ],
  api_keys: ['ann', 'bob'].map((user_id) => ({
    id: `key-${user_id}`,
    user_id,
    name: 'ci',
    digest: `digest-${user_id}`,
    operations: '["read"]',
    namespaces: '[]',
    last_used_at: 50,
    expires_at: null,
    created_at: 40,
  })),
  namespaces: [
    { id: 'n1', name: 'acme', user_id: 'ann', public_read: 1, suspended: 0, closing: 0, ...counted },
    { id: 'n2', name: 'beta', user_id: 'ann', public_read: 0, suspended: 1, closing: 1, ...counted },
    {
      id: 'n3',
      name: 'gamma',
      user_id: 'bob',
      public_read: 0,
      suspended: 0,
      closing: 0,
      ...at,
      records_count: 0,
    },
  ],
  query_tokens: [
    { id: 't1', namespace_id: 'n1', name: 't', digest: 'x', expires_at: 9, revoked_at: null, created_at: 1 },
  ],
  records: ['n1', 'n2'].map((namespace_id) => ({
    id: `r-${namespace_id}`,
    namespace_id,
    key: `a.${namespace_id}.v1`,
    resource: 'a',
    version: 'v1',
    data: bytes(`data of ${namespace_id}`),
    content_type: 'text/plain',
    ttl_seconds: 300,
    expires_at: null,
    ...at,
  })),
  webhooks: [
    { ...hook, id: 'w1', user_id: 'ann', name: 'one', claimed_delivery: null, last_attempt_ms: 3 },
    { ...hook, id: 'w2', user_id: 'bob', name: 'two', claimed_delivery: null, last_attempt_ms: null },
  ].map((row) => ({ ...row, cleanup: null, disabled_by: null })),
  webhook_deliveries: [
    {
      id: 'd1',
      webhook_id: 'w1',
      event: 'record.upserted',
      seq: 1,
      status: 'pending',
      response_code: null,
      error: null,
      attempts: 1,
      duration_ms: null,
      created_at: 100,
      last_attempt_at: null,
      next_attempt_at: 900,
      body: bytes('{}'),
    },
  ],
  event_counters: [{ user_id: 'ann', seq: 8 }],
  idempotency_keys: [{ id: 'i1', user_id: 'ann', answer: bytes('answer'), octets: 6, created_at: 100 }],
};

/** Makes a database as the release with migration 0008 left it, with `EARLIER_ROWS`. @param at file or URL */
export async function fillEarlierDatabase(engine: 'sqlite' | 'postgres', target: string): Promise<void> {
  const file = engine === 'sqlite' ? new SqliteConnection(new DatabaseSync(target)) : null;
  const db = new Kysely<Record<string, Record<string, unknown>>>(
    file === null
      ? { dialect: new PostgresDialect({ pool: new Pool({ connectionString: target }) }) }
      : handleProps(readerExecute(file)),
  );
  const migrations = Object.fromEntries(
    Object.entries(STEPS).map(([name, step]) => [
      name,
      { up: (on: Kysely<unknown>) => step(on, ENGINE_TYPES[engine]) },
    ]),
  );
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    disableTransactions: true,
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  for (const [table, rows] of Object.entries(EARLIER_ROWS)) await db.insertInto(table).values(rows).execute();
  await db.destroy();
  file?.close();
}
