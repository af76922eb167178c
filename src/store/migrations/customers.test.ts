import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  EARLIER_ROWS,
  fillEarlierDatabase,
} from '../../../test/support/store/migrations/earlier-database.ts';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { deleteRows, insertRows, query } from '../../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { openStore } from '../open.ts';
import type { Db, Store } from '../store.ts';

const KILLED = fileURLToPath(
  new URL('../../../test/support/store/migrations/killed-migration.ts', import.meta.url),
);

interface Earlier {
  /** A file or a URL. */
  readonly target: string;
  open(): Promise<Store>;
  drop(): Promise<void>;
}

const ENGINES: {
  engine: 'sqlite' | 'postgres';
  skip: string | false;
  readonly make: () => Promise<Earlier>;
}[] = [
  {
    engine: 'sqlite',
    skip: false,
    async make() {
      const database = await sqliteDatabase();
      mkdirSync(database.dataDir);
      return { target: database.file, open: () => database.open(), drop: () => database.drop() };
    },
  },
  {
    engine: 'postgres',
    skip: postgresMissing() ?? false,
    async make() {
      const database = await postgresDatabase();
      const { url } = database;
      return {
        target: url,
        open: () => openStore({ dataDir: '', databaseUrl: url, clock: Date.now }),
        drop: () => database.drop(),
      };
    },
  },
];

/** The earlier rows, as the migration is to leave them. */
function expected(): Record<string, Record<string, unknown>[]> {
  const users = EARLIER_ROWS.users!;
  const renamed = Object.entries(EARLIER_ROWS).map(([table, rows]) => [
    table,
    rows.map(({ user_id, ...row }) => (user_id === undefined ? row : { ...row, customer_id: user_id })),
  ]);
  return {
    ...Object.fromEntries(renamed),
    users: users.map(({ id, email, role, created_at }) => ({ id, email, role, created_at })),
    customers: users.map(({ id, tier, records_count, created_at }) => ({
      id,
      name: null,
      tier,
      records_count,
      closing: 0,
      created_at,
    })),
    memberships: users.map(({ id, created_at }) => ({
      customer_id: id,
      user_id: id,
      role: 'owner',
      created_at,
    })),
    sessions: EARLIER_ROWS.sessions!.map((row) => ({ ...row, customer_id: row.user_id })),
  };
}

const rowsOf = (read: Db, table: string): Promise<Record<string, unknown>[]> =>
  query(read, `select * from ${table} order by 1`);

/** @returns what it printed; null when it was killed */
async function migrateApart(engine: string, target: string, most: number): Promise<string | null> {
  const child = spawn(process.execPath, [KILLED, engine, target, String(most)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (signal === 'SIGKILL') return null;
  assert.equal(code, 0);
  return printed;
}

for (const { engine, skip, make } of ENGINES) {
  describe(`the migration from release 0.1.0, ${engine}`, { skip }, () => {
    it('loses no row, and a deleted customer takes what is theirs', async () => {
      const earlier = await make();
      await fillEarlierDatabase(engine, earlier.target);
      const store = await earlier.open();
      try {
        for (const [table, rows] of Object.entries(expected())) {
          // Later steps may add columns.
          assert.partialDeepStrictEqual(await rowsOf(store.read, table), rows, table);
          assert.equal((await rowsOf(store.read, table)).length, rows.length, table);
        }
        await assert.rejects(
          store.write((tx) => insertRows(tx, 'event_counters', { customer_id: 'nobody', seq: 1 })),
        );
        await store.write((tx) => deleteRows(tx, 'customers', { id: 'ann' }));
        for (const table of Object.keys(expected()).filter((it) => it !== 'users')) {
          const left = (await rowsOf(store.read, table)) as { id?: string }[];
          const bobs = expected()[table]!.filter((row) =>
            [row.customer_id, row.id].some((it) => it === 'bob'),
          );
          assert.equal(left.length, bobs.length, table);
        }
        await store.write((tx) => deleteRows(tx, 'users', { id: 'bob' }));
        assert.deepEqual(await rowsOf(store.read, 'sessions'), []);
      } finally {
        await store.close();
        await earlier.drop();
      }
    });

    it('is done again from the beginning when the process was killed in the middle', async () => {
      const whole = await make();
      const earlier = await make();
      try {
        await fillEarlierDatabase(engine, whole.target);
        await fillEarlierDatabase(engine, earlier.target);
        const statements = Number(await migrateApart(engine, whole.target, Infinity));
        assert.ok(statements > 20);
        for (const part of [0.4, 0.6, 0.8, 1]) {
          assert.equal(await migrateApart(engine, earlier.target, Math.floor(statements * part) - 1), null);
        }
        const store = await earlier.open();
        for (const [table, rows] of Object.entries(expected())) {
          assert.equal((await rowsOf(store.read, table)).length, rows.length, table);
        }
        await store.close();
      } finally {
        await whole.drop();
        await earlier.drop();
      }
    });
  });
}
