import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { relayTo } from '../../test/support/relay.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { createPostgresPing } from './postgres/ping.ts';

/** Whether the database is there. */
onEachEngine((create) => {
  describe('ping', () => {
    it('succeeds while the database is there, also several at once', () =>
      withStore(create, async (store) => {
        await store.ping();
        await Promise.all([store.ping(), store.ping()]);
      }));
  });
});

describe('a ping of PostgreSQL', { skip: postgresMissing() ?? false }, () => {
  it('that gets no answer is the last one on its connection: the next one makes another', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    const pings = createPostgresPing(relay.url, () => () => {});
    await pings.ping();
    relay.hang();
    await assert.rejects(pings.ping(), /timeout/);
    relay.accept();
    await pings.ping();
    await pings.close();
    await relay.cut();
    await database.drop();
  });
});
