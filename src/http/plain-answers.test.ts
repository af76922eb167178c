import assert from 'node:assert/strict';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { assertFailure, openWorld, WEBHOOK } from '../../test/support/http/world.ts';

/** Answers that misled the reader: findings L4 to L9 and L19 of the audit. */
apiScenarios('plain answers', {
  'finding L4 of the audit: HEAD of a listing has no length, which would have to be that of the GET': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    await customer.record(`r.${name}.v1`);
    for (const path of ['/records', '/records?limit=5', `/namespaces/${id}/export`]) {
      const head = await customer.send('HEAD', path);
      assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', undefined], path);
      assert.equal(head.headers['content-type'], (await customer.get(path)).headers['content-type']);
    }
    await world.close();
  },

  'finding L5 of the audit: an id of any length that is no UUID is not found': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const length of [1, 100, 101, 300, 8_000]) {
      const answer = await customer.get(`/records/${'0'.repeat(length)}`);
      assertFailure(answer, 404, 'not_found', 'Record not found');
    }
    assertFailure(await customer.get('/records/'), 404, 'not_found', 'Route not found');
    await world.close();
  },

  'finding L6 of the audit: an answer to a malformed If-None-Match has no tag': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const { id } = await customer.record(`r.${name}.v1`);
    for (const path of [`/records/${id}`, '/meta', '/openapi.json']) {
      const { status, headers } = await customer.send('GET', path, undefined, { 'if-none-match': 'x' });
      assert.deepEqual([status, headers.etag], [400, undefined], path);
    }
    await world.close();
  },

  'finding L7 of the audit: the document has the length of the longest key that the server takes': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const { schemas } = (await customer.get('/openapi.json')).json.components;
    const max: number = schemas.NewRecord.properties.key.maxLength;
    assert.equal(max, (await customer.get('/meta')).json.limits.record_key);
    const end = `.r.${name}.v1`;
    const params = `${'a'.repeat(63)}.${'b'.repeat(63)}.`;
    const longest = `${params}${'c'.repeat(max - params.length - end.length)}${end}`;
    assert.equal(longest.length, max);
    await customer.record(longest);
    const longer = await customer.post('/records', {
      record: { key: `c${longest.slice(64)}`.padStart(max + 1, `a`), data: '' },
    });
    assert.equal(longer.status, 422);
    await world.close();
  },

  'finding L9 of the audit: each cause has a text of its own': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const { id } = await customer.record(`r.${name}.v1`);
    for (const field of ['key', 'version', 'content_type']) {
      const answer = await customer.patch(`/records/${id}`, { record: { [field]: 'x' } });
      assertFailure(answer, 422, 'validation_error', [`${field} cannot be changed`]);
    }
    const whole = { key: `get.r.${name}.v1.example.net`, data: '' };
    const asName = ['key must be a query name without its operation, token and zone'];
    assertFailure(await customer.post('/records', { record: whole }), 422, 'validation_error', asName);
    await world.close();
  },

  'finding L19 of the audit: names of namespaces and statuses are taken in any case': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const namespaces = [name.toUpperCase(), name];
    const key = await customer.post('/api_keys', { api_key: { name: 'x', scopes: { namespaces } } });
    assert.deepEqual([key.status, key.json.scopes.namespaces], [201, [name]]);
    const webhook = await customer.post('/webhooks', { webhook: { ...WEBHOOK, scopes: { namespaces } } });
    assert.deepEqual([webhook.status, webhook.json.scopes.namespaces], [201, [name]]);
    assert.equal((await customer.get('/query_logs?status=HIT')).status, 200);
    const path = `/webhooks/${webhook.json.id}/deliveries`;
    assert.equal((await customer.get(`${path}?status=Failed`)).status, 200);
    assert.equal((await customer.get(`${path}?status=done`)).status, 400);
    await world.close();
  },
});
