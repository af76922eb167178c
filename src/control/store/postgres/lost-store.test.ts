import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { postgresDatabase, postgresMissing } from '../../../../test/support/control/store/postgres.ts';
import { sqliteDatabase } from '../../../../test/support/control/store/sqlite.ts';
import { openStore } from '../open.ts';

describe('a store that is lost', () => {
  it('is told by the ping of SQLite once its file is removed or replaced under the process', async () => {
    const database = await sqliteDatabase();
    const store = await database.open();
    await store.ping();
    rmSync(database.file);
    await assert.rejects(store.ping(), /ENOENT/);
    writeFileSync(database.file, '');
    await assert.rejects(store.ping(), /replaced/);
    await store.close();
    await database.drop();
  });
});

describe('a store that follows', { skip: postgresMissing() ?? false }, () => {
  it('opens without its server, never migrates, and gives changes once a control process has migrated', async () => {
    const nowhere = 'postgres://uqrp@127.0.0.1:1/none';
    const cutOff = await openStore({
      dataDir: '/none',
      databaseUrl: nowhere,
      clock: Date.now,
      isFollower: true,
    });
    await assert.rejects(cutOff.changes.bounds(), /ECONNREFUSED/);
    await assert.rejects(cutOff.ping(), /ECONNREFUSED/);
    await cutOff.close();

    const database = await postgresDatabase();
    const options = { dataDir: '/none', databaseUrl: database.url, clock: Date.now };
    const edge = await openStore({ ...options, isFollower: true });
    await assert.rejects(edge.changes.bounds());
    assert.deepEqual(await database.query("select 1 from pg_tables where tablename = 'feed_head'"), []);
    const control = await openStore(options);
    assert.equal((await edge.changes.bounds()).epoch, (await control.changes.bounds()).epoch);
    await edge.close();
    await control.close();

    await database.query("delete from kysely_migration where name >= '0003'");
    const early = await openStore({ ...options, isFollower: true });
    await assert.rejects(early.changes.bounds(), /schema 0002-webhooks.*start a control process/);
    await early.close();
    await database.drop();
  });
});
