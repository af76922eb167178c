import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, created, openWorld, WEBHOOK, type World } from '../../../test/support/http/world.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import { TIERS } from '../../base/limits.ts';
import { setTier } from './rules.ts';

const FULL = 'Record limit of the account reached';

/** Sets a customer's count, in place of thousands of writes. */
async function setCount(world: World, id: string, records_count: number): Promise<void> {
  await world.store.write((tx) => updateRows(tx, 'customers', { records_count }, { id }));
}

apiScenarios('tiers of customers', {
  'a change of the operator counts with the next request, in every process and for every credential': async (
    store,
  ) => {
    const [one, two] = [await openWorld(store), await openWorld(store)];
    const customer = await one.customer('free');
    const key = await customer.key();
    const { name } = await customer.namespace();
    await setCount(one, customer.id, TIERS.free.records);
    const callers = [customer, key, two.caller(customer.token), two.caller(key.token)];
    let written = 0;
    const write = (caller: (typeof callers)[number]) => {
      written += 1;
      return caller.post('/records', { record: { key: `k${written}.${name}.v1`, data: 'aGk=' } });
    };
    const bulk = (caller: (typeof callers)[number]) => {
      written += 1;
      return caller.post('/records/bulk', { records: [{ key: `k${written}.${name}.v1`, data: 'aGk=' }] });
    };
    const hook = (caller: (typeof callers)[number]) => caller.post('/webhooks', { webhook: WEBHOOK });
    for (const caller of callers) {
      for (const refused of [await write(caller), await bulk(caller)]) {
        assertFailure(refused, 422, 'quota_exceeded', FULL);
      }
      assertFailure(await hook(caller), 422, 'quota_exceeded');
    }
    await setTier(one.deps, customer.email, 'pro');
    for (const caller of callers) {
      created(await write(caller));
      assert.equal((await bulk(caller)).status, 200);
      created(await hook(caller));
      assert.equal((await two.caller(customer.token).get('/usage')).json.records.limit, TIERS.pro.records);
    }
    await setTier(two.deps, customer.email, 'free');
    for (const caller of callers) {
      for (const refused of [await write(caller), await bulk(caller)]) {
        assertFailure(refused, 422, 'quota_exceeded', FULL);
      }
      const { json } = await caller.get('/records?limit=500');
      assert.equal(json.length, 2 * callers.length);
    }
    const hooks = (await customer.get('/webhooks')).json as { enabled: boolean }[];
    assert.equal(hooks.length, callers.length);
    assert.ok(hooks.every(({ enabled }) => !enabled));
    await one.close();
    await two.close();
  },

  'writes at once do not pass the cap': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('pro');
    const { name } = await customer.namespace();
    await setCount(world, customer.id, TIERS.pro.records - 3);
    const answers = await Promise.all([
      ...Array.from({ length: 8 }, (_, i) =>
        customer.post('/records', { record: { key: `k${i}.${name}.v1`, data: 'aGk=' } }),
      ),
    ]);
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [201, 201, 201, 422, 422, 422, 422, 422],
    );
    await world.close();
  },
});
