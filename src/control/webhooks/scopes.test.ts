import assert from 'node:assert/strict';
import { addDeliveries } from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  created,
  openWorld,
  WEBHOOK,
} from '../../../test/support/http/world.ts';

const OUT_OF_REACH = 'scopes.namespaces must name namespaces within reach of the API key';

/** Every request about one webhook. */
function requests(id: string, deliveryId: string): readonly (readonly [string, string, unknown, number])[] {
  const path = `/webhooks/${id}`;
  return [
    ['GET', path, undefined, 200],
    ['HEAD', path, undefined, 200],
    ['PATCH', path, { webhook: { name: 'x' } }, 200],
    ['POST', `${path}/test`, undefined, 200],
    ['POST', `${path}/regenerate_secret`, undefined, 200],
    ['GET', `${path}/deliveries`, undefined, 200],
    ['POST', `${path}/deliveries/${deliveryId}/redeliver`, undefined, 200],
    ['DELETE', path, undefined, 204],
  ];
}

apiScenarios('webhooks, scopes', {
  'operations: neither implies the other, none means both': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('enterprise');
    for (const operations of [[], ['read'], ['write'], ['read', 'write']]) {
      const key = await customer.key({ operations });
      const { id } = await customer.webhook();
      const [deliveryId] = await addDeliveries(store, id, 1, () => ({}));
      for (const [method, path, body, status] of [
        ['GET', '/webhooks', undefined, 200] as const,
        ['GET', '/webhooks/events', undefined, 200] as const,
        ['POST', '/webhooks', { webhook: WEBHOOK }, 201] as const,
        ...requests(id, deliveryId!),
      ]) {
        const needs = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
        const answer = await key.send(method, path, body);
        const may = operations.length === 0 || operations.includes(needs);
        assert.equal(answer.status, may ? status : 403, `${operations.join(' ')} ${method} ${path}`);
        if (!may && method !== 'HEAD') {
          assertFailure(answer, 403, 'authorization_error', `API key lacks the ${needs} scope`);
        }
      }
    }
    await world.close();
  },

  "another customer's webhook is one that does not exist": async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const { id } = await customer.webhook();
    const [deliveryId] = await addDeliveries(store, id, 1, () => ({}));
    const key = await other.key({ namespaces: [(await other.namespace()).name] });
    for (const caller of [other, key]) {
      for (const some of [id, world.deps.newId(), 'not-a-uuid']) {
        for (const [method, path, body] of requests(some, deliveryId!)) {
          const answer = await caller.send(method, path, body);
          if (method === 'HEAD') assert.equal(answer.status, 404);
          else assertFailure(answer, 404, 'not_found', 'Webhook not found');
        }
      }
    }
    assert.deepEqual((await other.get('/webhooks')).json, []);
    assert.equal(world.network.sent.length, 0);
    assert.equal((await customer.get(`/webhooks/${id}`)).status, 200);
    await world.close();
  },

  'a delivery is found under its own webhook alone': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.webhook(), await customer.webhook()];
    const [deliveryId] = await addDeliveries(store, one.id, 1, () => ({}));
    for (const id of [deliveryId, world.deps.newId(), 'x']) {
      const answer = await customer.post(`/webhooks/${two.id}/deliveries/${id}/redeliver`);
      assertFailure(answer, 404, 'not_found', 'Delivery not found');
    }
    await world.close();
  },

  'a key that is confined to namespaces makes webhooks for those': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer('team'), await world.customer()];
    const [a, b, outside] = [
      await customer.namespace(),
      await customer.namespace(),
      await customer.namespace(),
    ];
    const foreign = await other.namespace();
    const key = await customer.key({ namespaces: [a.name, b.name] });
    const make = (caller: Caller, scopes?: unknown): Promise<Answer> =>
      caller.post('/webhooks', { webhook: { ...WEBHOOK, ...(scopes !== undefined && { scopes }) } });
    for (const scopes of [
      undefined,
      {},
      { namespaces: [] },
      { namespaces: [outside.name] },
      { namespaces: [a.name, outside.name] },
      { namespaces: [foreign.name] },
      { namespaces: ['never-made'] },
    ]) {
      assertFailure(await make(key, scopes), 422, 'validation_error', [OUT_OF_REACH]);
    }
    const narrow = created(await make(key, { namespaces: [a.name] }));
    const both = created(await make(key, { namespaces: [b.name, a.name] }));
    assert.deepEqual(both.scopes, { namespaces: [b.name, a.name] });

    // It may move a webhook among its namespaces, and no further.
    const patch = (id: string, namespaces: readonly string[]): Promise<Answer> =>
      key.patch(`/webhooks/${id}`, { webhook: { scopes: { namespaces } } });
    assert.equal((await patch(narrow.id, [b.name])).status, 200);
    assert.equal((await patch(narrow.id, [a.name, b.name])).status, 200);
    for (const namespaces of [[], [outside.name], [a.name, outside.name]]) {
      assertFailure(await patch(narrow.id, namespaces), 422, 'validation_error', [OUT_OF_REACH]);
    }
    assert.deepEqual((await key.get(`/webhooks/${narrow.id}`)).json.scopes.namespaces, [a.name, b.name]);
    await world.close();
  },

  'a confined key sees those webhooks, and is refused the others': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('team');
    const [a, outside] = [await customer.namespace(), await customer.namespace()];
    const key = await customer.key({ namespaces: [a.name] });
    const scoped = (...namespaces: string[]) => customer.webhook({ scopes: { namespaces } });
    const seen = await scoped(a.name);
    const hidden = [await scoped(), await scoped(outside.name), await scoped(a.name, outside.name)];
    assert.deepEqual(
      (await key.get('/webhooks')).json.map((webhook: { id: string }) => webhook.id),
      [seen.id],
    );
    assert.equal((await customer.get('/webhooks')).json.length, 4);
    for (const { id } of hidden) {
      const [deliveryId] = await addDeliveries(store, id, 1, () => ({}));
      for (const [method, path, body] of requests(id, deliveryId!)) {
        const answer = await key.send(method, path, body);
        if (method === 'HEAD') assert.equal(answer.status, 403);
        else assertFailure(answer, 403, 'authorization_error', 'API key does not reach this webhook');
      }
    }
    assert.equal(world.network.sent.length, 0);
    const [deliveryId] = await addDeliveries(store, seen.id, 1, () => ({}));
    for (const [method, path, body, status] of requests(seen.id, deliveryId!)) {
      assert.equal((await key.send(method, path, body)).status, status, `${method} ${path}`);
    }
    await world.close();
  },

  'without its last namespace a key sees no webhook, and a webhook stays what it was': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const key = await customer.key({ namespaces: [name] });
    const webhook = await customer.webhook({ scopes: { namespaces: [name] } });
    await customer.del(`/namespaces/${id}`);
    assert.deepEqual((await key.get(`/webhooks/${webhook.id}`)).json.scopes.namespaces, [name]);
    const again = await customer.patch(`/webhooks/${webhook.id}`, {
      webhook: { scopes: { namespaces: [name] } },
    });
    assertFailure(again, 422, 'validation_error', ['scopes.namespaces has a namespace that does not exist']);
    const renamed = await customer.patch(`/webhooks/${webhook.id}`, { webhook: { name: 'kept' } });
    assert.deepEqual(renamed.json.scopes.namespaces, [name]);
    await world.close();
  },
});
