/** A server, or a network, that takes what is sent and answers nothing: connections stay open. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'pg';
import { type DatabaseRelay, relayTo } from '../../../test/support/relay.ts';
import { putRecord, settle } from '../../../test/support/store/fixtures.ts';
import { type PostgresDatabase, postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { openStore } from '../open.ts';
import type { Store } from '../store.ts';
import { inTransaction, newPool, PATIENT_TIMEOUT } from './driver.ts';

/** Milliseconds: after it a statement counts as not answered. */
const QUERY_TIMEOUT = 35_000;
/** As in `postgres-store.ts`. */
const MIGRATION_LOCK = 7_352_114_901_223;

const open = (url: string): Promise<Store> => openStore({ dataDir: '', databaseUrl: url, clock: Date.now });

/** Lets the time of timers pass until the promise has settled. @throws Error when it did not within a minute */
async function passing<T>(t: TestContext, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  for (let waited = 0; waited < 60_000 && !isSettled; waited += 100) {
    t.mock.timers.tick(100);
    // What came over sockets meanwhile is read.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  }
  if (!isSettled) throw new Error('it did not settle within a minute');
  return await settled;
}

describe('a PostgreSQL that does not answer', { skip: postgresMissing() ?? false }, () => {
  const scenario = (
    title: string,
    run: (t: TestContext, relay: DatabaseRelay, database: PostgresDatabase) => Promise<void>,
  ): void => {
    it(title, async (t) => {
      const database = await postgresDatabase();
      const relay = await relayTo(database.url);
      try {
        await run(t, relay, database);
      } finally {
        t.mock.timers.reset();
        await relay.cut();
        await database.drop();
      }
    });
  };

  scenario(
    'costs the connections that it did not answer, and no later statement: reads and units go on over new ones',
    async (t, relay) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const store = await open(relay.url);
      const home = await settle(store);
      await store.changes.bounds();
      // As when another machine takes over, and nobody is left who knows the connections of before.
      relay.hang();
      relay.accept();
      const before = [store.changes.bounds(), store.write((tx) => putRecord(tx, home, 'lost'))];
      const results = await passing(t, Promise.allSettled(before));
      assert.deepEqual(
        results.map((result) => result.status === 'rejected' && String(result.reason)),
        ['Error: Query read timeout', 'Error: Query read timeout'],
      );
      assert.equal((await store.changes.bounds()).head, 0);
      assert.equal(await store.write((tx) => putRecord(tx, home, 'next')), 1);
      await store.close();
    },
  );

  scenario(
    'and answers on new connections: what waits on those of before fails 5 s later, as the ping finds out',
    async (t, relay) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const { store, before } = await pingedWhileSilent(t, relay);
      relay.accept();
      await store.ping();
      assert.match(await outcomeAfter(t, 4_900, before), /^under way/);
      assert.equal(await outcomeAfter(t, 200, before), 'Error: Connection terminated unexpectedly');
      await store.close();
    },
  );

  scenario('for a while, and then on all connections, loses none of them', async (t, relay) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { store, before } = await pingedWhileSilent(t, relay);
    relay.resume();
    await store.ping();
    assert.equal(await before, 1);
    const open = socketCount();
    t.mock.timers.tick(6_000);
    await store.ping();
    assert.equal(socketCount(), open);
    await store.close();
  });

  scenario('does not hold up the end of a store, its ping or its listener', async (t, relay) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = await open(relay.url);
    const woken = Promise.withResolvers<void>();
    const stop = store.changes.onChange(() => woken.resolve());
    await store.ping();
    await store.changes.bounds();
    await woken.promise;
    const before = socketCount();
    relay.hang();
    stop();
    await passing(t, store.close());
    // Those of the relay are left.
    while (socketCount() > before / 2) await passing(t, nextTurn());
  });

  scenario('does not hold up who waits for a connection that is refused', async (t, relay) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const refused = Promise.withResolvers<void>();
    const pool = newPool(relay.url, 1, {
      async prepare() {
        relay.hang();
        refused.resolve();
        throw new Error('a standby');
      },
    });
    const connecting = assert.rejects(pool.connect(), /a standby/);
    await refused.promise;
    await passing(t, connecting);
    await passing(t, pool.end());
  });

  scenario('fails a unit whose statements may take any time, before it has begun', async (t, relay) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const pool = newPool(relay.url, 1);
    (await pool.connect()).release();
    relay.hang();
    const unit = inTransaction(pool, async () => {}, { timeout: PATIENT_TIMEOUT });
    await assert.rejects(passing(t, unit), /Query read timeout/);
    await passing(t, pool.end());
  });

  const PATIENT = 'for longer than any statement may take is waited for where';

  scenario(`${PATIENT} another process migrates`, (t, _relay, database) =>
    opensAfter(t, database, [`select pg_advisory_lock(${MIGRATION_LOCK})`]),
  );

  scenario(`${PATIENT} the database has moved`, async (t, _relay, database) => {
    await (await open(database.url)).close();
    await opensAfter(t, database, [
      "update service_facts set value = '1:00000001:1' where name = 'server'",
      'begin',
      "select 1 from service_facts where name = 'server' for update",
    ]);
  });
});

/** A unit is under way, and a ping has failed, on connections that nothing passes. */
async function pingedWhileSilent(
  t: TestContext,
  relay: DatabaseRelay,
): Promise<{ store: Store; before: Promise<number> }> {
  const store = await open(relay.url);
  const home = await settle(store);
  await store.ping();
  relay.hang();
  const before = store.write((tx) => putRecord(tx, home, 'before'));
  before.catch(() => {});
  await assert.rejects(passing(t, store.ping()), /Query read timeout/);
  return { store, before };
}

/** Lets this time pass. */
async function outcomeAfter(t: TestContext, ms: number, promise: Promise<unknown>): Promise<string> {
  let outcome = 'under way';
  promise.then(
    () => {
      outcome = 'done';
    },
    (error: unknown) => {
      outcome = String(error);
    },
  );
  t.mock.timers.tick(ms);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  return outcome;
}

/** Opens the store while another session holds what these statements lock, until the time of a statement is over. */
async function opensAfter(
  t: TestContext,
  database: PostgresDatabase,
  locks: readonly string[],
): Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const other = new Client({ connectionString: database.url });
  await other.connect();
  for (const sql of locks) await other.query(sql);
  const opening = open(database.url);
  await waitsForLock(database);
  t.mock.timers.tick(QUERY_TIMEOUT);
  await nextTurn();
  await other.end();
  await (await opening).close();
}

async function waitsForLock(database: PostgresDatabase): Promise<void> {
  for (;;) {
    const waiting = await database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (waiting.length > 0) return;
  }
}

/** Sockets over TCP that this process has open. */
const socketCount = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
