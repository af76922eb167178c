import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../../test/support/store/fixtures.ts';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { openStore } from './open.ts';
import type { Store } from './store.ts';
import { existingNamespaces } from './usage.ts';

/** @param open a new database */
function suite(
  name: string,
  open: () => Promise<{ store: Store; drop: () => Promise<void> }>,
  skip: string | null,
): void {
  describe(`namespaces that usage may count for in ${name}`, { skip: skip ?? false }, () => {
    it('are those that exist', async () => {
      const { store, drop } = await open();
      try {
        const homes = [await settle(store, 'acme'), await settle(store, 'other')];
        const ids = homes.map(({ namespaceId }) => namespaceId);
        assert.deepEqual(await existingNamespaces(store, [...ids, 'invented', "x' or 1=1"]), new Set(ids));
        assert.deepEqual(await existingNamespaces(store, []), new Set());
      } finally {
        await store.close();
        await drop();
      }
    });
  });
}

suite(
  'SQLite',
  async () => {
    const database = await sqliteDatabase();
    return { store: await database.open(), drop: () => database.drop() };
  },
  null,
);
suite(
  'PostgreSQL',
  async () => {
    const database = await postgresDatabase();
    const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
    return { store, drop: () => database.drop() };
  },
  postgresMissing(),
);
