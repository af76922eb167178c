import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { openStore } from '../open.ts';

describe('a store that is lost', () => {
  it('is told by the ping of SQLite once its file is removed or replaced under the process', async () => {
    const database = await sqliteDatabase();
    const store = await database.open();
    await store.ping();
    rmSync(database.file);
    await assert.rejects(store.ping(), /the SQLite file was removed/);
    writeFileSync(database.file, '');
    await assert.rejects(store.ping(), /replaced/);
    await store.close();
    await database.drop();
  });
});

describe('a store that may not migrate', { skip: postgresMissing() ?? false }, () => {
  it('opens without its server, and leaves the tables as they are', async () => {
    const options = { dataDir: '/none', clock: Date.now, tables: 'look' as const };
    const nowhere = 'postgres://uqrp@127.0.0.1:1/none';
    const cutOff = await openStore({ ...options, databaseUrl: nowhere });
    await assert.rejects(cutOff.changes.bounds(), /ECONNREFUSED/);
    await assert.rejects(cutOff.ping(), /ECONNREFUSED/);
    await cutOff.close();

    const database = await postgresDatabase();
    const early = await openStore({ ...options, databaseUrl: database.url });
    await assert.rejects(early.changes.bounds());
    assert.deepEqual(await database.query("select 1 from pg_tables where tablename = 'feed_head'"), []);
    await early.close();
    await database.drop();
  });
});
