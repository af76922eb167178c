import { DatabaseSync } from 'node:sqlite';
import { uuidsOfTimes } from '../../../../src/base/ids.ts';
import { FIRST_TABLES, WEBHOOKS } from '../../../../src/store/migrations/first-release.ts';
import { statementsOf } from '../../../../src/store/migrations/migrate.ts';
import { inTransaction, newPool } from '../../../../src/store/postgres/driver.ts';
import { newUnit, SqliteConnection } from '../../../../src/store/sqlite/driver.ts';
import type { Tx } from '../../../../src/store/store.ts';
import { query } from '../rows.ts';

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

/** Rows of two customers in every table of accounts, and in those that reference them. */
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
    { id: 'n1', name: 'acme', user_id: 'ann', public_read: 1, suspended: 0, ...counted },
    { id: 'n2', name: 'beta', user_id: 'ann', public_read: 0, suspended: 1, ...counted },
    {
      id: 'n3',
      name: 'gamma',
      user_id: 'bob',
      public_read: 0,
      suspended: 0,
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
    { ...hook, id: 'w1', user_id: 'ann', name: 'one' },
    { ...hook, id: 'w2', user_id: 'bob', name: 'two' },
  ],
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
};

/** Makes the tables of release 0.1.0. @param rows of them, by table */
export async function makeEarlierTables(tx: Tx, rows: EarlierRows): Promise<void> {
  const steps = { '0001-first-tables': FIRST_TABLES, '0002-webhooks': WEBHOOKS };
  await query(
    tx,
    'create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)',
  );
  await query(
    tx,
    'create table kysely_migration_lock (id varchar(255) primary key, is_locked integer not null)',
  );
  for (const [name, step] of Object.entries(steps)) {
    for (const sql of statementsOf(step, tx.engine)) await query(tx, sql);
    await query(tx, "insert into kysely_migration values (:name, '2026-11-22')", { name });
  }
  for (const [table, all] of Object.entries(rows)) {
    for (const row of all) {
      const names = Object.keys(row);
      const values = names.map((name) => `:${name}`);
      await query(tx, `insert into ${table} (${names.join(', ')}) values (${values.join(', ')})`, row);
    }
  }
}

/** Makes a database as release 0.1.0 left it, with `EARLIER_ROWS`. @param target file or URL */
export async function fillEarlierDatabase(engine: 'sqlite' | 'postgres', target: string): Promise<void> {
  if (engine === 'postgres') {
    const pool = newPool(target, 1);
    await inTransaction(pool, (tx) => makeEarlierTables(tx, EARLIER_ROWS));
    await pool.end();
    return;
  }
  const file = new SqliteConnection(new DatabaseSync(target));
  await makeEarlierTables(newUnit(file, uuidsOfTimes()).tx, EARLIER_ROWS);
  file.close();
}
