import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertFailure, type Customer, openWorld } from '../../test/support/http/world.ts';
import { type DatabaseRelay, relayTo } from '../../test/support/relay.ts';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { openStore } from '../store/open.ts';

/** Far above the 35 s within which docs/API.md promises an answer: a request that hangs fails the test. */
const HANGS_MS = 90_000;

/** An API whose PostgreSQL server the test can take away, and a customer of it. */
async function withRelay(scene: (relay: DatabaseRelay, customer: Customer) => Promise<void>): Promise<void> {
  const database = await postgresDatabase();
  const relay = await relayTo(database.url);
  const store = await openStore({ dataDir: '', databaseUrl: relay.url, clock: Date.now });
  const world = await openWorld(store);
  try {
    await scene(relay, await world.customer());
  } finally {
    // Connections that hang would hold up the close.
    await relay.cut();
    await world.close();
    await store.close();
    await database.drop();
  }
}

async function assertAway(customer: Customer): Promise<void> {
  const answers = await Promise.all([
    customer.get('/me'),
    customer.post('/namespaces', { namespace: { name: 'no-database' } }),
  ]);
  for (const answer of answers) assertFailure(answer, 500, 'server_error', 'Server error');
}

describe('the API while its database is away', {
  skip: postgresMissing() ?? false,
  concurrency: true,
}, () => {
  const options = { timeout: HANGS_MS };

  test('a server that was killed: 500, and answers again once it is back', options, () =>
    withRelay(async (relay, customer) => {
      await relay.cut();
      await assertAway(customer);
      await relay.restore();
      assert.equal((await customer.get('/me')).status, 200);
      assert.equal((await customer.post('/namespaces', { namespace: { name: 'is-back' } })).status, 201);
    }),
  );

  test('a server that accepts connections and says nothing: 500', options, () =>
    withRelay(async (relay, customer) => {
      await relay.cut();
      await relay.restore();
      relay.hang();
      await assertAway(customer);
    }),
  );

  test('a server that hangs with the connections that it has: 500', options, () =>
    withRelay(async (relay, customer) => {
      relay.hang();
      await assertAway(customer);
    }),
  );
});
