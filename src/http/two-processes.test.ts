import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type EventReader, listen, openEvents } from '../../test/support/control/query-log/event-reader.ts';
import { addRows } from '../../test/support/control/query-log/log-rows.ts';
import { rowOf } from '../../test/support/control/query-log/stream-rig.ts';
import { openWorld, type World } from '../../test/support/http/world.ts';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';

interface Database {
  open(): Promise<Store>;
  drop(): Promise<void>;
}

async function postgres(): Promise<Database> {
  const made = await postgresDatabase();
  return {
    open: () => openStore({ dataDir: '', databaseUrl: made.url, clock: Date.now }),
    drop: () => made.drop(),
  };
}

const missing = postgresMissing();

for (const [engine, make, skip] of [
  ['SQLite', sqliteDatabase, false],
  ['PostgreSQL', postgres, missing ?? false],
] as const) {
  describe(`two servers on one ${engine}`, { skip }, () => {
    let database: Database;
    let stores: Store[];
    let here: World;
    let there: World;
    let ports: [here: number, there: number];
    const readers: EventReader[] = [];
    const open = async (...more: Parameters<typeof openEvents>): Promise<EventReader> => {
      const reader = await openEvents(...more);
      assert.equal(reader.status, 200);
      readers.push(reader);
      return reader;
    };
    before(async () => {
      database = await make();
      stores = [await database.open(), await database.open()];
      [here, there] = [await openWorld(stores[0]!), await openWorld(stores[1]!)];
      ports = [await listen(here), await listen(there)];
    });
    after(async () => {
      for (const reader of readers) reader.close();
      for (const world of [here, there]) await world.close();
      for (const store of stores) await store.close();
      await database.drop();
    });

    test('a stream of one shows the rows that the other stores, and goes on at the other without a gap', async () => {
      const customer = await here.customer();
      const { id } = await customer.namespace();
      await addRows(here, id, [{ ago: 0, durationMs: 1 }]);
      const [{ id: start }] = (await customer.get('/query_logs?limit=1')).json.query_logs;
      const first = await open(ports[0], customer, { headers: { 'last-event-id': start } });
      for (let row = 2; row <= 11; row++)
        await addRows(row % 2 === 0 ? there : here, id, [{ ago: 0, durationMs: row }]);
      const seen = await first.take(5);
      first.close();
      const next = await open(ports[1], customer, { headers: { 'last-event-id': String(seen.at(-1)!.id) } });
      await addRows(here, id, [{ ago: 0, durationMs: 12 }]);
      seen.push(...(await next.take(6)));
      assert.deepEqual(
        seen.map(({ data }) => data.duration_ms),
        Array.from({ length: 11 }, (_, i) => i + 2),
      );
    });

    test('a session, a key and an account that end at one end the streams of the other', async () => {
      const customer = await here.customer();
      const session = await here.signIn(customer);
      const key = await customer.key();
      const atOther = there.caller(customer.token);
      const ofSession = await open(ports[0], session);
      assert.equal((await there.caller(session.token).del('/auth/session')).status, 204);
      await ofSession.ended();
      const ofKey = await open(ports[0], key);
      assert.equal((await atOther.del(`/api_keys/${key.id}`)).status, 204);
      await ofKey.ended();
      const ofAccount = await open(ports[0], customer);
      assert.equal((await atOther.send('DELETE', '/me', { email: customer.email })).status, 204);
      await ofAccount.ended();
      for (const reader of [ofSession, ofKey, ofAccount]) assert.equal(reader.isWhole(), true);
    });

    test('a namespace that the other closes sends nothing more', async () => {
      const customer = await here.customer();
      const [gone, kept] = [await customer.namespace(), await customer.namespace()];
      await addRows(here, kept.id, [{ ago: 0 }]);
      const [{ id }] = (await customer.get('/query_logs?limit=1')).json.query_logs;
      const reader = await open(ports[0], customer, { headers: { 'last-event-id': id } });
      await addRows(there, gone.id, [{ ago: 0, durationMs: 1 }]);
      await rowOf(reader, 1);
      const other = there.caller(customer.token);
      assert.equal((await other.del(`/namespaces/${gone.id}`)).status, 204);
      await addRows(there, gone.id, [{ ago: 0, durationMs: 2 }]);
      await addRows(there, kept.id, [{ ago: 0, durationMs: 3 }]);
      const [next] = await reader.take(1);
      assert.equal(next!.data.duration_ms, 3);
    });

    test('one that stops ends its streams, and those of the other go on', async () => {
      const customer = await here.customer();
      const { id } = await customer.namespace();
      await addRows(here, id, [{ ago: 0 }]);
      const [{ id: start }] = (await customer.get('/query_logs?limit=1')).json.query_logs;
      const resume = { headers: { 'last-event-id': start } };
      const [stopped, kept] = [
        await open(ports[1], customer, resume),
        await open(ports[0], customer, resume),
      ];
      await addRows(here, id, [{ ago: 0, durationMs: 1 }]);
      await rowOf(stopped, 1);
      await there.close();
      await stopped.ended();
      assert.equal(stopped.isWhole(), true);
      await addRows(here, id, [{ ago: 0, durationMs: 2 }]);
      await rowOf(kept, 2);
      assert.deepEqual([here.errors, there.errors], [[], []]);
    });
  });
}
