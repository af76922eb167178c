import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createMemoryFeedKeys } from '../../test/support/feed/keys/memory-feed-keys.ts';
import type { TestDatabase } from '../../test/support/store/fixtures.ts';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { oneRow, query, updateRows } from '../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { aesGcmEncryption } from '../base/seal.ts';
import type { FeedKeyStore, StoredKey } from '../feed/ports/feed-store.ts';
import { openStore } from './open.ts';
import { feedKeyStore } from './server-keys.ts';
import { renewEpoch } from './service-facts.ts';
import { copySqlite, renewSqliteEpoch } from './sqlite/backup.ts';
import type { Store } from './store.ts';

const encryption = aesGcmEncryption(Buffer.alloc(32, 1), randomBytes, 0);

interface World {
  /** Opens the same keys as another process would. */
  open(): Promise<FeedKeyStore>;
  close(): Promise<void>;
}

const key = (period: number, fill = period): StoredKey => ({ period, secret: Buffer.alloc(32, fill) });
const text = (keys: readonly StoredKey[]): string[] =>
  keys.map(({ period, secret }) => `${period} ${Buffer.from(secret).toString('hex')}`);

/** What every store of hourly keys must do. */
function feedKeySuite(name: string, create: () => Promise<World>, skip: string | null = null): void {
  describe(`hourly keys in ${name}`, { skip: skip ?? false }, () => {
    const scenario = (title: string, run: (world: World) => Promise<void>): void => {
      it(title, async () => {
        const world = await create();
        try {
          await run(world);
        } finally {
          await world.close();
        }
      });
    };

    scenario('are read by every process, ascending by period', async (world) => {
      const [one, other] = [await world.open(), await world.open()];
      assert.deepEqual(await one.read(), []);
      await one.add(key(9));
      await other.add(key(8));
      assert.deepEqual(text(await one.read()), text([key(8), key(9)]));
      assert.deepEqual(text(await other.read()), text([key(8), key(9)]));
    });

    scenario('a period has one key, also when processes add theirs at once', async (world) => {
      const stores = [await world.open(), await world.open(), await world.open()];
      await Promise.all(stores.map((store, i) => store.add(key(7, i))));
      const [found] = await stores[0]!.read();
      await stores[1]!.add(key(7, 99));
      for (const store of stores) assert.deepEqual(text(await store.read()), text([found!]));
    });

    scenario('only the named periods are kept, the first and the last included', async (world) => {
      const store = await world.open();
      for (const period of [1, 2, 3, 4, 5]) await store.add(key(period));
      await store.keep(2, 4);
      assert.deepEqual(text(await store.read()), text([key(2), key(3), key(4)]));
    });

    scenario('replacing leaves one key, whatever others add or replace at once', async (world) => {
      const [one, other] = [await world.open(), await world.open()];
      for (const period of [5, 6, 7]) await one.add(key(period));
      await Promise.all([one.replaceAll(key(7, 70)), other.replaceAll(key(7, 71)), other.add(key(7, 72))]);
      const found = await one.read();
      assert.equal(found.length, 1);
      assert.ok([70, 71, 72].includes(found[0]!.secret[0]!));
      assert.deepEqual(text(await other.read()), text(found));
    });
  });
}

feedKeySuite('memory', async () => {
  const store = createMemoryFeedKeys();
  return { open: async () => store, close: async () => {} };
});

function databaseWorld(database: TestDatabase): World {
  const opened: Store[] = [];
  return {
    async open() {
      const store = await database.open();
      opened.push(store);
      return feedKeyStore(store, encryption);
    },
    async close() {
      for (const store of opened) await store.close();
      await database.drop();
    },
  };
}

async function postgres(): Promise<TestDatabase> {
  const database = await postgresDatabase();
  return {
    open: (clock = Date.now) => openStore({ dataDir: '', databaseUrl: database.url, clock }),
    drop: () => database.drop(),
  };
}

feedKeySuite('SQLite', async () => databaseWorld(await sqliteDatabase()));
feedKeySuite('PostgreSQL', async () => databaseWorld(await postgres()), postgresMissing());

describe('hourly keys in a row', () => {
  it('are encrypted, and belong to their row and to this UQRP_SECRET', async () => {
    const database = await sqliteDatabase();
    const store = await database.open();
    try {
      const keys = feedKeyStore(store, encryption);
      await keys.add(key(7));
      const { secret } = await oneRow(store.read, 'feed_keys');
      assert.equal(Buffer.from(secret).includes(Buffer.alloc(8, 7)), false);
      assert.equal(Buffer.from(secret).includes(Buffer.alloc(32, 7).toString('base64').slice(0, 16)), false);
      const others = feedKeyStore(store, aesGcmEncryption(Buffer.alloc(32, 2), randomBytes, 0));
      await assert.rejects(others.read());
      await store.write((tx) => updateRows(tx, 'feed_keys', { period: 8 }));
      await assert.rejects(keys.read());
    } finally {
      await store.close();
      await database.drop();
    }
  });
});

/** Rows of keys as files have them. */
async function rowsIn(store: Store): Promise<readonly Buffer[]> {
  const rows = await query<{ secret: Uint8Array }>(
    store.read,
    'select secret from feed_keys order by period',
  );
  return rows.map(({ secret }) => Buffer.from(secret));
}

describe('an hourly key that was destroyed is not in the files of PostgreSQL', {
  skip: postgresMissing() ?? false,
}, () => {
  /** Every table and index: the one from before a rewrite has another name. */
  const FILES = `select encode(pg_read_binary_file(concat('base/', d.oid, '/', f.name), 0, 10000000, true), 'hex') as hex
    from pg_database as d, pg_ls_dir(concat('base/', d.oid)) as f (name) where d.datname = current_database()`;
  const cases: readonly [string, (keys: FeedKeyStore, store: Store) => Promise<unknown>][] = [
    ['that is over', (keys) => keys.keep(8, 9)],
    ['that was renewed', (keys) => keys.replaceAll(key(8))],
    ['of an earlier epoch', (_, store) => store.write((tx) => renewEpoch(tx, 1))],
  ];
  for (const [title, destroy] of cases) {
    it(title, async () => {
      const database = await postgresDatabase();
      const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
      try {
        const keys = feedKeyStore(store, encryption);
        await keys.add(key(7));
        const [row] = await rowsIn(store);
        const isInFiles = async (): Promise<boolean> => {
          await database.query('checkpoint');
          const found = (await database.query(FILES)) as { hex: string }[];
          return found.some(({ hex }) => hex.includes(row!.toString('hex')));
        };
        await store.scrub();
        assert.equal(await isInFiles(), true);
        await destroy(keys, store);
        await store.scrub();
        assert.equal(await isInFiles(), false);
        const file = () => query(store.read, "select pg_relation_filenode('feed_keys') as file");
        const before = await file();
        await store.scrub();
        assert.deepEqual(await file(), before, 'it is rewritten once');
      } finally {
        await store.close();
        await database.drop();
      }
    });
  }
});

describe('a copy of an SQLite database', () => {
  it('has no hourly key of the feed, nor the octets of one; neither has a restored one that had', async () => {
    const database = await sqliteDatabase();
    const store = await database.open();
    try {
      const keys = feedKeyStore(store, encryption);
      for (const period of [7, 8]) await keys.add(key(period));
      const rows = await rowsIn(store);
      const has = (file: string): boolean => rows.some((row) => readFileSync(file).includes(row));
      const copy = join(database.dataDir, 'copy');
      copySqlite(database.file, copy);
      assert.equal(has(copy), false);
      assert.equal((await keys.read()).length, 2, 'the server has them');
      await store.close();
      assert.equal(has(database.file), true);
      renewSqliteEpoch(database.file, 1);
      assert.equal(has(database.file), false);
      const restored = await database.open();
      assert.deepEqual(await feedKeyStore(restored, encryption).read(), []);
      await restored.close();
    } finally {
      await store.close();
      await database.drop();
    }
  });
});
