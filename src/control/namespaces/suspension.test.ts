import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Answer, assertFailure, created, openWorld } from '../../../test/support/http/world.ts';
import { setPublicRead, setSuspended } from './rules.ts';

function assertSuspended(answer: Answer): void {
  assertFailure(answer, 403, 'authorization_error', 'Namespace is suspended');
}

apiScenarios('suspension', {
  'a suspended namespace takes no writes, no new tokens and no deletion': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const other = await customer.namespace();
    const record = await customer.record(`r.${name}.v1`);
    const token = created(await customer.post(`/namespaces/${id}/query_tokens`, { name: 't' }));
    await setSuspended(world.deps, name, true);
    const before = (await world.changes()).length;
    const item = { key: `s.${name}.v1`, data: '' };
    const elsewhere = { key: `s.${other.name}.v1`, data: '' };
    for (const answer of [
      await customer.post('/records', { record: item }),
      await customer.post('/records/bulk', { records: [elsewhere, item] }),
      await customer.post('/records/bulk', { delete: [record.key] }),
      await customer.patch(`/records/${record.id}`, { record: { data: '' } }),
      await customer.del(`/records/${record.id}`),
      await customer.post(`/namespaces/${id}/query_tokens`, { name: 'u' }),
      await customer.del(`/namespaces/${id}`),
    ]) {
      assertSuspended(answer);
    }
    assert.equal((await world.changes()).length, before);

    // No customer can take the name.
    for (const caller of [customer, await world.customer()]) {
      const again = await caller.post('/namespaces', { namespace: { name } });
      assertFailure(again, 422, 'validation_error', ['name has already been taken']);
    }
    // Reads and the revocation of tokens are still possible.
    assert.deepEqual((await customer.get(`/records/${record.id}`)).json, record);
    assert.deepEqual((await customer.get('/records')).json, [record]);
    assert.equal((await customer.get(`/namespaces/${id}/query_tokens`)).json.length, 1);
    assert.equal((await customer.del(`/namespaces/${id}/query_tokens/${token.id}`)).status, 204);
    assert.equal((await customer.post('/records', { record: elsewhere })).status, 201);

    await setSuspended(world.deps, name, false);
    assert.equal((await customer.post('/records', { record: item })).status, 201);
    assert.equal((await customer.del(`/namespaces/${id}`)).status, 204);
    await world.close();
  },

  'the owner sees that everyone may read a namespace, and only then the field is there': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const show = async () => (await customer.get(`/namespaces/${id}`)).json;
    assert.equal('public_read' in (await show()), false);
    await setPublicRead(world.deps, name, true);
    assert.equal((await show()).public_read, true);
    assert.equal((await customer.get('/namespaces')).json[0].public_read, true);
    await setPublicRead(world.deps, name, false);
    assert.equal('public_read' in (await show()), false);
    await world.close();
  },

  'the owner sees that a namespace is suspended, and only then the field is there': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const show = async () => (await customer.get(`/namespaces/${id}`)).json;
    assert.equal('suspended' in (await show()), false);
    await setSuspended(world.deps, name, true);
    assert.equal((await show()).suspended, true);
    assert.equal((await customer.get('/namespaces')).json[0].suspended, true);
    await setSuspended(world.deps, name, false);
    assert.equal('suspended' in (await show()), false);
    await world.close();
  },
});
