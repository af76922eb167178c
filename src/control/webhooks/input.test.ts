import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, created, newName, openWorld, WEBHOOK } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';

const EVENTS = 'events must have only record.upserted, record.deleted, namespace.upserted, namespace.deleted';
const NAME = 'name must be one line of text and not blank';
const NO_NAMESPACE = 'scopes.namespaces has a namespace that does not exist';

/** A field that is refused, alone in a PATCH or beside good ones in a POST, and the message. */
const FIELDS: readonly (readonly [object, string])[] = [
  [{ name: '' }, NAME],
  [{ name: 'a\nb' }, NAME],
  [{ name: 5 }, 'name must be a string'],
  [{ name: null }, 'name must be a string'],
  [{ name: 'x'.repeat(LIMITS.webhookName + 1) }, 'name must have at most 100 characters'],
  [{ url: 5 }, 'url must be a string'],
  [{ url: null }, 'url must be a string'],
  [{ url: `https://x.example/${'p'.repeat(LIMITS.webhookUrl)}` }, 'url must have at most 2048 characters'],
  [{ url: 'refuse' }, 'url must use https'],
  [{ events: [] }, 'events must not be empty'],
  [{ events: 'record.upserted' }, 'events must be an array'],
  [{ events: null }, 'events must be an array'],
  [{ events: {} }, 'events must be an array'],
  [{ events: ['record.upserted', 'record.created'] }, EVENTS],
  [{ events: ['webhook.test'] }, EVENTS],
  [{ events: ['token.minted'] }, EVENTS],
  [{ events: ['RECORD.DELETED'] }, EVENTS],
  [{ events: ['toString'] }, EVENTS],
  [{ events: [1] }, EVENTS],
  [{ events: [['record.deleted']] }, EVENTS],
  [{ events: Array(LIMITS.webhookEvents + 1).fill('record.deleted') }, 'events must have at most 100 items'],
  [{ scopes: [] }, 'scopes must be an object'],
  [{ scopes: null }, 'scopes must be an object'],
  [{ scopes: { namespaces: 'x' } }, 'scopes.namespaces must be an array'],
  [{ scopes: { namespaces: null } }, 'scopes.namespaces must be an array'],
  [{ scopes: { namespaces: [1] } }, 'scopes.namespaces must have only strings'],
  [{ scopes: { namespaces: ['never-made'] } }, NO_NAMESPACE],
  [{ scopes: { namespaces: ['a\u0000'] } }, NO_NAMESPACE],
  [
    { scopes: { namespaces: Array.from({ length: LIMITS.webhookNamespaces + 1 }, (_, i) => `n${i}`) } },
    'scopes.namespaces must have at most 100 items',
  ],
  [{ scopes: { namespaces: [], operations: [] } }, 'scopes.operations is not a known field'],
  [{ secret: 'mine' }, 'secret is not a known field'],
  [{ signing_secret: 'mine' }, 'signing_secret is not a known field'],
  [{ failure_count: 0 }, 'failure_count is not a known field'],
];

/** Bodies of a POST as they are, with every message. */
const WHOLE: readonly (readonly [object, ...string[]])[] = [
  [{}, 'name is required', 'url is required', 'events is required'],
  [
    { name: 1, url: 'refuse', events: ['x'], scopes: { namespaces: ['never-made'] }, colour: 'red' },
    'colour is not a known field',
    'name must be a string',
    EVENTS,
    'url must use https',
    NO_NAMESPACE,
  ],
  [{ ...WEBHOOK, enabled: true }, 'enabled is not a known field'],
];

/** Fields that only a PATCH has. */
const PATCHES: readonly (readonly [object, string])[] = [
  [{}, 'webhook must have one of name, url, events, scopes, enabled'],
  [{ scopes: {} }, 'scopes.namespaces is required'],
  [{ enabled: 1 }, 'enabled must be true or false'],
  [{ enabled: 'false' }, 'enabled must be true or false'],
  [{ enabled: null }, 'enabled must be true or false'],
];

apiScenarios('webhooks, input', {
  'what is refused at creation': async (store) => {
    const world = await openWorld(store);
    world.network.checkUrl = async (url) => (url === 'refuse' ? 'url must use https' : null);
    const [customer, other] = [await world.customer(), await world.customer()];
    const foreign = await other.namespace();
    for (const [body, ...messages] of [
      ...WHOLE,
      ...FIELDS.map(([field, message]) => [{ ...WEBHOOK, ...field }, message] as const),
      [{ ...WEBHOOK, scopes: { namespaces: [foreign.name] } }, NO_NAMESPACE] as const,
    ]) {
      const answer = await customer.post('/webhooks', { webhook: body });
      assertFailure(answer, 422, 'validation_error', messages);
    }
    assertFailure(await customer.post('/webhooks', WEBHOOK), 400, 'validation_error');
    assert.deepEqual((await customer.get('/webhooks')).json, []);
    await world.close();
  },

  'what is refused in a PATCH changes nothing': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const webhook = (await customer.get(`/webhooks/${id}`)).json;
    world.network.checkUrl = async (url) => (url === 'refuse' ? 'url must use https' : null);
    for (const [body, message] of [...FIELDS, ...PATCHES]) {
      const answer = await customer.patch(`/webhooks/${id}`, {
        webhook: Object.keys(body).length === 0 ? body : { ...body, name: 'changed', ...body },
      });
      assertFailure(answer, 422, 'validation_error', [message]);
    }
    const bare = await customer.patch(`/webhooks/${id}`, { name: 'changed' });
    assertFailure(bare, 400, 'validation_error', 'Body must have an object webhook');
    assert.deepEqual((await customer.get(`/webhooks/${id}`)).json, webhook);
    await world.close();
  },

  'the longest of everything is taken, repetitions are not kept': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const names: string[] = [];
    for (let i = 0; i < LIMITS.webhookNamespaces; i++) names.push((await customer.namespace(newName())).name);
    const body = {
      name: 'n'.repeat(LIMITS.webhookName),
      url: `https://x.example/${'p'.repeat(LIMITS.webhookUrl - 18)}`,
      events: ['record.deleted', 'namespace.deleted', 'record.deleted', 'record.upserted'],
      scopes: { namespaces: names },
    };
    assert.equal(body.url.length, LIMITS.webhookUrl);
    const webhook = created(await customer.post('/webhooks', { webhook: body }));
    assert.deepEqual(
      { name: webhook.name, url: webhook.url, events: webhook.events, scopes: webhook.scopes },
      { ...body, events: ['record.deleted', 'namespace.deleted', 'record.upserted'] },
    );
    const [first] = names;
    const scopes = { namespaces: [first, first] };
    const patched = await customer.patch(`/webhooks/${webhook.id}`, { webhook: { scopes } });
    assert.deepEqual(patched.json.scopes, { namespaces: [first] });
    const events = Array(LIMITS.webhookEvents).fill('record.deleted');
    const renewed = await customer.patch(`/webhooks/${webhook.id}`, { webhook: { events } });
    assert.deepEqual(renewed.json.events, ['record.deleted']);
    await world.close();
  },

  'requests without a body take an empty object, and nothing in it': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    for (const path of [`/webhooks/${id}/test`, `/webhooks/${id}/regenerate_secret`]) {
      assert.equal((await customer.post(path)).status, 200);
      assert.equal((await customer.post(path, {})).status, 200);
      const more = await customer.post(path, { url: 'https://elsewhere.example' });
      assertFailure(more, 422, 'validation_error', ['url is not a known field']);
      assertFailure(await customer.post(path, []), 400, 'validation_error', 'Body must be a JSON object');
    }
    await world.close();
  },
});
