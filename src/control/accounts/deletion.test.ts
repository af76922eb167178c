import assert from 'node:assert/strict';
import { codeFor, newEmail, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { invited, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  type Answer,
  assertFailure,
  type Customer,
  created,
  newName,
  openWorld,
  WEBHOOK,
  type World,
} from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import type { SignedIn } from '../../http/actor.ts';
import type { Store } from '../../store/store.ts';
import { startUpkeep } from '../../store/upkeep.ts';
import { createApiKey } from '../keys/rules.ts';
import { deleteClosed } from '../namespaces/deletion.ts';
import { createNamespace, setSuspended } from '../namespaces/rules.ts';
import { createOrganization, dissolveOrganization } from '../organizations/rules.ts';
import { writeBulk } from '../records/bulk.ts';
import { createRecord } from '../records/rules.ts';
import { cleanUp } from '../webhooks/loops.ts';
import { deleteAccount, listUsers } from './rules.ts';

const { signal } = new AbortController();

/** A customer with something in every table. */
async function filled(world: World): Promise<{ customer: Customer; names: string[]; keyToken: string }> {
  const customer = await world.customer();
  const names: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { id, name } = await customer.namespace();
    names.push(name);
    await customer.record(`a.${name}.v1`, { data: 'c2VjcmV0' });
    await customer.post(`/namespaces/${id}/query_tokens`, { query_token: { name: 'reader' } });
  }
  const { token: keyToken } = await customer.key();
  const hook = await customer.webhook();
  await customer.post(`/webhooks/${hook.id}/test`);
  const headers = { 'idempotency-key': 'once' };
  const body = { record: { key: `b.${names[0]}.v1`, data: 'aGk=' } };
  assert.equal((await customer.send('POST', '/records', body, headers)).status, 201);
  return { customer, names, keyToken };
}

/**
 * A request that was accepted and waits: the name server of the attacker answers late.
 * @returns `late`: its answer; `answers`: the name server does now
 */
async function lateWebhook(
  world: World,
  customer: Customer,
  headers?: Record<string, string>,
): Promise<{ late: Promise<Answer>; answers: () => void }> {
  const delay = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  world.network.checkUrl = async () => {
    asked.resolve();
    await delay.promise;
    return null;
  };
  const late = customer.send('POST', '/webhooks', { webhook: WEBHOOK }, headers);
  await asked.promise;
  return { late, answers: delay.resolve };
}

/** Every row of the tables that has one of the texts in it. */
async function traces(store: Store, texts: readonly string[]): Promise<string[]> {
  const tables = [
    'customers',
    'users',
    'memberships',
    'sessions',
    'api_keys',
    'namespaces',
    'query_tokens',
    'records',
    'webhooks',
    'webhook_deliveries',
    'event_counters',
    'idempotency_keys',
  ] as const;
  const found: string[] = [];
  for (const table of tables) {
    const rows = await findRows(store.read, table);
    if (rows.some((row) => texts.some((text) => JSON.stringify(row).includes(text)))) found.push(table);
  }
  return found;
}

apiScenarios('account deletion', {
  'signs out, ends keys and frees the address at once; then everything goes': async (store) => {
    const world = await openWorld(store);
    const { customer, names, keyToken } = await filled(world);
    const namespaces = (await customer.get('/namespaces')).json.map(({ id }: { id: string }) => id);
    const second = await world.signIn(customer);
    const answer = await customer.send('DELETE', '/me', { email: customer.email.toUpperCase() });
    assert.equal(answer.status, 204, answer.text);
    for (const token of [customer.token, second.token, keyToken]) {
      assertFailure(await world.caller(token).get('/records'), 401, 'authentication_error');
    }
    assert.equal(
      (await listUsers(world.deps)).some(({ id }) => id === customer.id),
      false,
    );
    const again = await verify(world, customer.email, await codeFor(world, customer.email));
    assert.notEqual(again.json.user.id, customer.id);
    assert.equal(again.json.user.records_count, 0);
    await deleteClosed({ store, clock: world.now, signal });
    await cleanUp(store, signal);
    await deleteClosed({ store, clock: world.now, signal });
    assert.deepEqual(await traces(store, [customer.id, ...namespaces, ...names]), []);
    // The names can be taken, and the edges were told of each end.
    const other = await world.customer();
    for (const name of names) await other.namespace(name);
    const told = (await world.changes()).filter(({ type }) => type === 'namespace.deleted');
    for (const name of names) assert.ok(told.some((change) => change.namespace === name));
    await world.close();
  },

  'a request that began before the deletion adds nothing after it': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const { late, answers } = await lateWebhook(world, customer);
    assert.equal((await customer.send('DELETE', '/me', { email: customer.email })).status, 204);
    answers();
    assertFailure(await late, 401, 'authentication_error');
    const actor: SignedIn = {
      customerId: customer.id,
      personId: customer.id,
      userId: customer.id,
      sessionId: customer.id,
      role: 'owner',
      tier: 'pro',
      via: 'session',
      apiKey: null,
      requestId: null,
      operations: new Set(['read', 'write']),
      namespaces: null,
    };
    const gone = { code: 'authentication_error' };
    await assert.rejects(createApiKey(world.deps, actor, { name: 'late' }), gone);
    await assert.rejects(createNamespace(world.deps, actor, { name: `${name}-late` }), gone);
    await assert.rejects(createOrganization(world.deps, actor, { name: 'late' }), gone);
    // Before its namespace is closed, and when customer and namespace are gone (seed 226).
    const record = { key: `late.${name}.v1`, data: '' };
    const bulk = { records: [record] };
    await assert.rejects(createRecord(world.deps, actor, record), gone);
    await assert.rejects(writeBulk(world.deps, actor, bulk), gone);
    await deleteClosed({ store, clock: world.now, signal });
    await assert.rejects(createApiKey(world.deps, actor, { name: 'late' }), gone);
    await assert.rejects(createRecord(world.deps, actor, record), gone);
    await assert.rejects(writeBulk(world.deps, actor, bulk), gone);
    assert.deepEqual(await traces(store, [customer.id, name]), []);
    await world.close();
  },

  'a request with an idempotency key that began before the account was gone is refused (seed 2041)': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { late, answers } = await lateWebhook(world, customer, { 'idempotency-key': 'late' });
    assert.equal((await customer.send('DELETE', '/me', { email: customer.email })).status, 204);
    await deleteClosed({ store, clock: world.now, signal });
    assert.deepEqual(await traces(store, [customer.id]), []);
    answers();
    assertFailure(await late, 401, 'authentication_error');
    assert.deepEqual(world.errors, []);
    await world.close();
  },

  'beside writes of the same account, each is done or refused, and nothing of them is left': async (
    store,
  ) => {
    const world = await openWorld(store);
    const { customer, names, keyToken } = await filled(world);
    const namespaces = (await customer.get('/namespaces')).json.map(({ id }: { id: string }) => id);
    const key = world.caller(keyToken);
    const begun = Promise.withResolvers<void>();
    let written = 0;
    const repeat = async (write: (n: number) => Promise<Answer>): Promise<void> => {
      for (let n = 0; ; n++) {
        const answer = await write(n);
        if (answer.status === 401) return;
        // A record may be given up by the deletion of its namespace.
        assert.ok([200, 201, 204, 403, 404, 422].includes(answer.status), answer.text);
        if (answer.status < 300) written++;
        if (written === 50) begun.resolve();
        assert.deepEqual(world.errors, []);
      }
    };
    const [name] = names;
    const writers = [
      repeat((n) => key.post('/records', { record: { key: `x${n}.${name}.v1`, data: '' } })),
      repeat((n) =>
        customer.post('/records/bulk', {
          records: [{ key: `y${n}.${names[1]}.v1`, data: '' }],
          delete: [`a.${name}.v1`],
        }),
      ),
      repeat((n) => customer.post('/api_keys', { api_key: { name: `late ${n}` } })),
      repeat((n) => customer.post('/webhooks', { webhook: { ...WEBHOOK, name: `late ${n}` } })),
      repeat(() => customer.post('/namespaces', { namespace: { name: newName() } })),
      repeat((n) =>
        customer.post(`/namespaces/${namespaces[2]}/query_tokens`, { query_token: { name: `t${n}` } }),
      ),
    ];
    const remove = async (): Promise<void> => {
      await begun.promise;
      assert.equal((await customer.send('DELETE', '/me', { email: customer.email })).status, 204);
    };
    await Promise.all([...writers, remove()]);
    for (let round = 0; round < 3; round++) {
      await deleteClosed({ store, clock: world.now, signal });
      await cleanUp(store, signal);
    }
    assert.deepEqual(await traces(store, [customer.id, ...namespaces, ...names]), []);
    await world.close();
  },

  'invitations of the address go with the account, and none that has ended keeps its address': async (
    store,
  ) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const customer = await world.customer();
    const ended = newEmail();
    await invited(world, organization, ended);
    world.advance(6 * 86_400_000);
    const again = await world.signIn(owner);
    const guest = newEmail();
    for (const email of [customer.email, guest]) {
      created(await again.post(`${path}/invitations`, { invitation: { email } }));
    }
    const leaver = await world.signIn(customer);
    assert.equal((await leaver.send('DELETE', '/me', { email: customer.email })).status, 204);
    const left = async (): Promise<string[]> =>
      (await findRows(store.read, 'invitations', { order: 'created_at' })).map(({ email }) => email);
    assert.deepEqual(await left(), [ended, guest]);
    const names = (await findRows(store.read, 'audit_log')).map(({ object_name }) => object_name);
    assert.equal(names.includes(customer.email), false);
    world.advance(86_400_000);
    const stop = new AbortController();
    await startUpkeep({
      store,
      clock: () => world.now(),
      signal: stop.signal,
      keepLog: 1e12,
      keepAudit: 1e12,
      onScrubbed: () => stop.abort(),
    });
    assert.deepEqual(await left(), [guest]);
    await world.close();
  },

  'does not wait for an organization that is being deleted, by its owner or by the operator': async (
    store,
  ) => {
    const world = await openWorld(store);
    for (const way of ['owner', 'operator'] as const) {
      const { id, path, owner, asOwner } = await newOrganization(world);
      const { name } = created(await asOwner.post('/namespaces', { namespace: { name: newName() } }));
      const key = world.caller(created(await asOwner.post('/api_keys', { api_key: { name: 'k' } })).token);
      const remove = () => owner.send('DELETE', '/me', { email: owner.email });
      assertFailure(await remove(), 422, 'validation_error');
      if (way === 'owner') assert.equal((await owner.del(path)).status, 204);
      else {
        await setSuspended(world.deps, name, true);
        await dissolveOrganization(world.deps, id);
        await assert.rejects(dissolveOrganization(world.deps, id), { code: 'not_found' });
        for (const caller of [asOwner, key]) assert.equal((await caller.get('/namespaces')).status, 401);
      }
      const answer = await remove();
      assert.equal(answer.status, 204, answer.text);
      await deleteClosed({ store, clock: world.now, signal });
      assert.deepEqual(await traces(store, [id, owner.id, name]), []);
    }
    await world.close();
  },

  'goes on after any unit: the database holds the progress': async (store) => {
    const world = await openWorld(store);
    const { customer, names } = await filled(world);
    assert.equal((await customer.send('DELETE', '/me', { email: customer.email })).status, 204);
    // Each round ends after one unit, as a killed process does between two units.
    for (let round = 0; round < 20; round++) {
      const ending = new AbortController();
      const once: Store = {
        ...store,
        write: (work) => {
          ending.abort();
          return store.write(work);
        },
      };
      await deleteClosed({ store: once, clock: world.now, signal: ending.signal });
      await cleanUp(store, signal);
    }
    assert.deepEqual(await traces(store, [customer.id, ...names]), []);
    await world.close();
  },

  'needs the address of the account, a session, and no suspended namespace': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const other = await world.customer();
    const remove = (body: object) => customer.send('DELETE', '/me', body);
    const wrong = ['email is not the address of this account'];
    for (const email of [other.email, 'x', '']) {
      assertFailure(await remove({ email }), 422, 'validation_error', wrong);
    }
    assertFailure(await remove({}), 422, 'validation_error', ['email is required']);
    assertFailure(await remove({ email: customer.email, user_id: other.id }), 422, 'validation_error');
    const key = await customer.key();
    assertFailure(await key.send('DELETE', '/me', { email: customer.email }), 403, 'authorization_error');
    const { name } = await customer.namespace();
    await setSuspended(world.deps, name, true);
    assertFailure(
      await remove({ email: customer.email }),
      403,
      'authorization_error',
      'Namespace is suspended',
    );
    assert.equal((await customer.get('/me')).status, 200);
    assert.equal((await other.get('/me')).status, 200);
    await deleteAccount(world.deps, customer.email);
    assertFailure(await customer.get('/me'), 401, 'authentication_error');
    await assert.rejects(deleteAccount(world.deps, customer.email), { code: 'not_found' });
    await deleteClosed({ store, clock: world.now, signal });
    await world.close();
  },
});
