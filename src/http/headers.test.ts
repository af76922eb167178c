import assert from 'node:assert/strict';
import { softwareAuthenticator } from '../../test/support/control/passkeys/authenticator.ts';
import { register } from '../../test/support/control/passkeys/rig.ts';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { type Answer, newName, openWorld, PUBLIC_URL, WEBHOOK } from '../../test/support/http/world.ts';

apiScenarios('headers', {
  'every answer has the headers of a private API, and none of a rate limit': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const answer of [
      await customer.get('/me'),
      await customer.get('/records'),
      await customer.get('/nothing'),
      await customer.post('/records', {}),
      await world.caller(null).get('/me'),
    ]) {
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      for (const name of Object.keys(answer.headers)) assert.doesNotMatch(name, /ratelimit|retry-after/i);
    }
    await world.close();
  },

  'every answer has a request id of its own, whatever the client sends': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const ids = new Set<unknown>();
    const answers = [
      await customer.get('/me'),
      await customer.get('/records'),
      await customer.get('/nothing'),
      await customer.post('/records', {}),
      await customer.post('/namespaces', { namespace: { name: newName() } }),
      await world.caller(null).get('/me'),
      await customer.send('GET', '/me', undefined, { 'x-request-id': 'mine', 'request-id': 'mine' }),
      await world.inject({ method: 'GET', url: '/api/v1/records/%zz' }),
    ];
    for (const { headers, text } of answers) {
      assert.match(String(headers['x-request-id']), /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, text);
      ids.add(headers['x-request-id']);
    }
    assert.equal(ids.size, answers.length);
    await world.close();
  },

  'a 201 has the location of what was created, where DELETE of it answers (finding L2 of the audit)': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const organization = (await customer.post('/organizations', { organization: { name: 'x' } })).json;
    const made: Answer[] = [await register(customer, softwareAuthenticator(PUBLIC_URL))];
    for (const [path, body] of [
      ['/records', { record: { key: `r.${name}.v1`, data: '' } }],
      ['/api_keys', { api_key: { name: 'x' } }],
      [`/namespaces/${id}/query_tokens`, { name: 'x' }],
      ['/webhooks', { webhook: WEBHOOK }],
      ['/namespaces', { namespace: { name: newName() } }],
      ['/organizations', { organization: { name: 'y' } }],
      [`/organizations/${organization.id}/invitations`, { invitation: { email: 'guest@example.com' } }],
    ] as const) {
      made.push(await customer.post(path, body));
    }
    for (const { status, headers, json } of made) {
      const location = String(headers.location);
      assert.equal(status, 201, location);
      assert.ok(location.startsWith(`${PUBLIC_URL}/api/v1/`) && location.endsWith(`/${json.id}`), location);
      assert.equal((await customer.del(location.slice(`${PUBLIC_URL}/api/v1`.length))).status, 204, location);
    }
    await world.close();
  },

  'HEAD of a stream, an export or a listing has no Content-Length: that of the GET is not known': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const key = await customer.key();
    for (const [path, { token }] of [
      ['/api/v1/changes/stream', customer],
      ['/api/v1/query_logs/stream', customer],
      [`/flags/${name}/ofrep/v1/events`, key],
      [`/api/v1/namespaces/${id}/export`, customer],
      ['/api/v1/audit/export', customer],
      ['/api/v1/records', customer],
    ] as const) {
      const { status, headers } = await world.inject({
        method: 'HEAD',
        url: path,
        headers: { authorization: `Bearer ${token}` },
      });
      assert.deepEqual([status, headers['content-length']], [200, undefined], path);
    }
    await world.close();
  },
});
