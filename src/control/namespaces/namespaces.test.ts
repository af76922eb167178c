import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, created, type Json, newName, openWorld } from '../../../test/support/http/world.ts';
import { insertRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import { setPublicRead, setSuspended } from './rules.ts';

const FORM =
  'name must be lower-case letters, digits and hyphens, start with a letter and end with a letter or digit';
const LENGTH = 'name must have 3 to 32 characters';

const REFUSED: readonly (readonly [unknown, string])[] = [
  [undefined, 'name is required'],
  [null, 'name must be a string'],
  [7, 'name must be a string'],
  ['', LENGTH],
  ['ab', LENGTH],
  ['a'.repeat(33), LENGTH],
  ['Acme', FORM],
  ['1acme', FORM],
  ['-acme', FORM],
  ['acme-', FORM],
  ['ac_me', FORM],
  ['ac.me', FORM],
  ['acmé', FORM],
  ['acme\u0000', FORM],
  ['auth-acme', 'name must not start with auth-'],
  ['public', 'name is reserved'],
  ['ns01', 'name is reserved'],
  ['localhost', 'name is reserved'],
  ['uqrp', 'name is reserved'],
  ['github', 'name is reserved'],
  ['playground', 'name is reserved'],
  ['playground-dev', 'name is reserved'],
];

apiScenarios('namespaces', {
  'a namespace is created, listed, fetched and deleted': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const name = newName();
    const namespace = created(await customer.post('/namespaces', { namespace: { name } }));
    assert.deepEqual(namespace, {
      id: namespace.id,
      name,
      records_count: 0,
      max_ttl: 60,
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
    });
    await customer.record(`r.${name}.v1`);
    const counted = { ...namespace, records_count: 1 };
    assert.deepEqual((await customer.get('/namespaces')).json, [counted]);
    assert.deepEqual((await customer.get(`/namespaces/${namespace.id}`)).json, counted);
    assert.equal((await customer.get('/me')).json.namespaces_count, 1);

    const deleted = await customer.del(`/namespaces/${namespace.id}`);
    assert.deepEqual([deleted.status, deleted.text], [204, '']);
    assertFailure(await customer.get(`/namespaces/${namespace.id}`), 404, 'not_found', 'Namespace not found');
    assertFailure(await customer.del(`/namespaces/${namespace.id}`), 404, 'not_found', 'Namespace not found');
    assert.deepEqual((await customer.get('/namespaces')).json, []);
    await world.close();
  },

  'names: every rule': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const [name, message] of REFUSED) {
      const answer = await customer.post('/namespaces', { namespace: { name } });
      assertFailure(answer, 422, 'validation_error', [message]);
    }
    const extra = { namespace: { name: newName(), public_read: true } };
    const unknown = ['public_read is not a known field'];
    assertFailure(await customer.post('/namespaces', extra), 422, 'validation_error', unknown);
    const tail = newName().slice(3).replace('-', '');
    for (const name of [`a${tail.slice(-2)}`, `x${tail}`.padEnd(32, '0'), `a--${tail}`]) {
      await customer.namespace(name);
    }
    await world.close();
  },

  'a name is taken once among all customers, and free after its deletion': async (store) => {
    const world = await openWorld(store);
    const [one, two] = [await world.customer(), await world.customer()];
    const { id, name } = await one.namespace();
    const taken = ['name has already been taken'];
    for (const customer of [one, two]) {
      const again = await customer.post('/namespaces', { namespace: { name } });
      assertFailure(again, 422, 'validation_error', taken);
    }
    await one.del(`/namespaces/${id}`);
    await two.namespace(name);
    await world.close();
  },

  'a name is immutable': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const answer = await customer.patch(`/namespaces/${id}`, { namespace: { name: newName() } });
    assertFailure(answer, 422, 'validation_error', ['name cannot be changed']);
    await world.close();
  },

  'its owner chooses how long caches keep open answers, from one second to a day': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const path = `/namespaces/${id}`;
    for (const max_ttl of [1, LIMITS.openTtlMax, 3600]) {
      const answer = await customer.patch(path, { namespace: { max_ttl } });
      assert.equal(answer.status, 200);
      assert.notEqual(answer.headers['x-service-seq'], undefined);
      assert.equal(answer.json.max_ttl, max_ttl);
      assert.deepEqual((await customer.get(path)).json, answer.json);
      const change = (await world.changes()).at(-1)!;
      assert.equal(change.type, 'namespace.upserted');
      assert.equal(change.type === 'namespace.upserted' && change.maxTtl, max_ttl);
    }
    const before = (await world.changes()).length;
    const bounds = `max_ttl must be between 1 and ${LIMITS.openTtlMax}`;
    for (const [max_ttl, message] of [
      [0, bounds],
      [LIMITS.openTtlMax + 1, bounds],
      [1.5, 'max_ttl must be an integer'],
      ['60', 'max_ttl must be an integer'],
      [null, 'max_ttl must be an integer'],
    ] as const) {
      const answer = await customer.patch(path, { namespace: { max_ttl } });
      assertFailure(answer, 422, 'validation_error', [message]);
    }
    const none = ['namespace must have one of max_ttl, history'];
    assertFailure(await customer.patch(path, { namespace: {} }), 422, 'validation_error', none);
    const other = await world.customer();
    const theirs = await other.patch(path, { namespace: { max_ttl: 5 } });
    assertFailure(theirs, 404, 'not_found', 'Namespace not found');
    // What the operator sets leaves it as it is, and the other way round.
    const opened = await setPublicRead(world.deps, name, true);
    assert.equal(opened.max_ttl, 3600);
    const last = await customer.patch(path, { namespace: { max_ttl: 5 } });
    assert.deepEqual([last.json.public_read, last.json.max_ttl], [true, 5]);
    await setSuspended(world.deps, name, true);
    const refused = await customer.patch(path, { namespace: { max_ttl: 6 } });
    assertFailure(refused, 403, 'authorization_error', 'Namespace is suspended');
    assert.equal((await world.changes()).length, before + 3);
    await world.close();
  },

  'other customers meet only 404': async (store) => {
    const world = await openWorld(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    const { id } = await owner.namespace();
    const token = created(await owner.post(`/namespaces/${id}/query_tokens`, { name: 't' }));
    for (const answer of [
      await other.get(`/namespaces/${id}`),
      await other.del(`/namespaces/${id}`),
      await other.get(`/namespaces/${id}/query_tokens`),
      await other.post(`/namespaces/${id}/query_tokens`, { name: 't' }),
      await other.del(`/namespaces/${id}/query_tokens/${token.id}`),
    ]) {
      assertFailure(answer, 404, 'not_found', 'Namespace not found');
    }
    await world.close();
  },

  'a deletion cascades: records, tokens, payloads, counts, and a Change for each': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [doomed, kept] = [await customer.namespace(), await customer.namespace()];
    const keys = Array.from({ length: 1200 }, (_, i) => `k${i}.r.${doomed.name}.v1`);
    for (let start = 0; start < keys.length; start += 500) {
      const records = keys.slice(start, start + 500).map((key) => ({ key, data: 'c2VjcmV0' }));
      assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    }
    const survivor = await customer.record(`r.${kept.name}.v1`);
    for (const name of ['a', 'b']) {
      created(await customer.post(`/namespaces/${doomed.id}/query_tokens`, { name }));
    }
    const before = (await world.changes()).length;
    assert.equal((await customer.del(`/namespaces/${doomed.id}`)).status, 204);
    const readable = (await customer.get('/records')).json;
    assert.deepEqual(readable, [survivor]);
    await runLoops(store, () => world.now());

    const all = await world.changes();
    const cascade = all.slice(before);
    const deleted = cascade.filter((change) => change.type === 'record.deleted');
    assert.deepEqual(deleted.map((change) => change.key).sort(), [...keys].sort());
    assert.ok(deleted.every((change) => change.cause === 'cascade' && change.namespace === doomed.name));
    assert.equal(cascade.filter((change) => change.type === 'token.revoked').length, 2);
    assert.deepEqual(summary(cascade.at(-1)!), ['namespace.deleted', 'direct', customer.id]);
    assert.ok(all.every((change, i) => i === 0 || change.seq === all[i - 1]!.seq + 1));
    const payloads = all.filter((change) => change.type === 'record.upserted' && change.data !== null);
    assert.deepEqual(
      payloads.map((change) => change.namespace),
      [kept.name],
    );

    const me = (await customer.get('/me')).json;
    assert.deepEqual([me.records_count, me.namespaces_count], [1, 1]);
    assert.deepEqual((await customer.get('/records')).json, [survivor]);
    await world.close();
  },

  'the number of namespaces is bounded': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const rows = Array.from({ length: LIMITS.namespacesPerCustomer - 1 }, () => ({
      id: world.deps.newId(),
      name: newName(),
      customer_id: customer.id,
      public_read: 0,
      suspended: 0,
      records_count: 0,
      created_at: 0,
      updated_at: 0,
    }));
    await world.store.write((tx) => insertRows(tx, 'namespaces', rows));
    await customer.namespace();
    const answer = await customer.post('/namespaces', { namespace: { name: newName() } });
    assertFailure(answer, 422, 'quota_exceeded', 'Namespace limit of the account reached');
    await world.close();
  },

  'only the operator sets public_read and suspends': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const flags = async () => {
      const change = (await world.changes()).at(-1)!;
      assert.equal(change.type, 'namespace.upserted');
      assert.equal(change.owner, customer.id);
      return change.type === 'namespace.upserted' ? [change.publicRead, change.suspended] : [];
    };
    assert.deepEqual(await flags(), [false, false]);
    const set = await setPublicRead(world.deps, name, true);
    assert.deepEqual(await flags(), [true, false]);
    assert.deepEqual((await customer.get(`/namespaces/${id}`)).json, set);
    assert.equal(set.public_read, true);
    await setSuspended(world.deps, name.toUpperCase(), true);
    assert.deepEqual(await flags(), [true, true]);
    await setPublicRead(world.deps, name, false);
    assert.deepEqual(await flags(), [false, true]);
    await setSuspended(world.deps, name, false);
    assert.deepEqual(await flags(), [false, false]);
    await assert.rejects(setPublicRead(world.deps, newName(), true), { code: 'not_found' });
    await world.close();
  },
});

function summary(change: Change): Json[] {
  return [change.type, change.cause, change.owner];
}
