import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, created, newName, openWorld } from '../../../test/support/http/world.ts';
import { findRows, firstRow } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';

const OPERATIONS = 'scopes.operations must have only read and write';

const REFUSED: readonly (readonly [object, ...string[]])[] = [
  [{}, 'name is required'],
  [{ name: ' ' }, 'name must be one line of text and not blank'],
  [{ name: 'a\nb' }, 'name must be one line of text and not blank'],
  [{ name: 'x'.repeat(101) }, 'name must have at most 100 characters'],
  [{ name: '👩'.repeat(101) }, 'name must have at most 100 characters'],
  [{ name: 'x', scopes: [] }, 'scopes must be an object'],
  [{ name: 'x', scopes: null }, 'scopes must be an object'],
  [{ name: 'x', scopes: { operations: 'read' } }, 'scopes.operations must be an array'],
  [{ name: 'x', scopes: { operations: ['admin'] } }, OPERATIONS],
  [{ name: 'x', scopes: { operations: ['READ'] } }, OPERATIONS],
  [
    { name: 'x', scopes: { operations: Array(LIMITS.scopeOperations + 1).fill('read') } },
    'scopes.operations must have at most 100 items',
  ],
  [{ name: 'x', scopes: { namespaces: [1] } }, 'scopes.namespaces must have only strings'],
  [
    { name: 'x', scopes: { namespaces: Array.from({ length: 101 }, (_, i) => `n${i}`) } },
    'scopes.namespaces must have at most 100 items',
  ],
  [{ name: 'x', scopes: { methods: [] } }, 'scopes.methods is not a known field'],
  [
    { name: 'x', scopes: { namespaces: ['never-made'] } },
    'scopes.namespaces has a namespace that does not exist',
  ],
  [
    { name: 'x', scopes: { namespaces: ['a\u0000'] } },
    'scopes.namespaces has a namespace that does not exist',
  ],
  [{ name: 'x', expires_at: '2026-01-01T00:00:00Z' }, 'expires_at must be in the future'],
  [{ name: 'x', expires_at: 'soon' }, 'expires_at is not an ISO 8601 date, or date and time with a zone'],
  [{ name: 'x', token: 'mine' }, 'token is not a known field'],
];

apiScenarios('API keys', {
  'a key is created, listed without its token, used and deleted': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const body = {
      name: 'deploy',
      scopes: {
        operations: [...Array(LIMITS.scopeOperations - 1).fill('read'), 'write'],
        namespaces: [name, name],
      },
      expires_at: '2026-06-01T00:00:00Z',
    };
    const key = created(await customer.post('/api_keys', { api_key: body }));
    const { token, ...shown } = key;
    assert.match(token, /^[0-9a-f]{64}$/);
    assert.deepEqual(shown, {
      id: shown.id,
      name: 'deploy',
      scopes: { operations: ['read', 'write'], namespaces: [name] },
      last_used_at: null,
      expires_at: '2026-06-01T00:00:00.000Z',
      created_at: '2026-01-01T00:00:00.000Z',
    });
    assert.deepEqual((await customer.get('/api_keys')).json, [shown]);
    assert.equal((await customer.get('/me')).json.api_keys_count, 1);
    const rows = await findRows(store.read, 'api_keys', { where: { id: shown.id } });
    assert.ok(!JSON.stringify(rows).includes(token));

    const caller = world.caller(token);
    assert.equal((await caller.get('/records')).status, 200);
    assert.equal((await customer.del(`/api_keys/${shown.id}`)).status, 204);
    assertFailure(await caller.get('/records'), 401, 'authentication_error', 'Credentials are not valid');
    assertFailure(await customer.del(`/api_keys/${shown.id}`), 404, 'not_found', 'API key not found');
    assert.deepEqual((await customer.get('/api_keys')).json, []);
    await world.close();
  },

  'what is refused': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const foreign = await other.namespace();
    for (const [body, ...messages] of [
      ...REFUSED,
      [
        { name: 'x', scopes: { namespaces: [foreign.name] } },
        'scopes.namespaces has a namespace that does not exist',
      ] as const,
    ]) {
      const answer = await customer.post('/api_keys', { api_key: body });
      assertFailure(answer, 422, 'validation_error', messages);
    }
    const key = await customer.key();
    assertFailure(await other.del(`/api_keys/${key.id}`), 404, 'not_found', 'API key not found');
    assert.deepEqual((await other.get('/api_keys')).json, []);
    await world.close();
  },

  'operations: neither implies the other, none means both': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const token = created(await customer.post(`/namespaces/${id}/query_tokens`, { name: 't' }));
    const requests = async (): Promise<(readonly [string, string, unknown, number])[]> => {
      const record = await customer.record(`${newName()}.${name}.v1`);
      const key = `${newName()}.${name}.v1`;
      return [
        ['GET', '/records', undefined, 200],
        ['HEAD', '/records', undefined, 200],
        ['GET', `/records/${record.id}`, undefined, 200],
        ['GET', '/namespaces', undefined, 200],
        ['GET', `/namespaces/${id}`, undefined, 200],
        ['GET', `/namespaces/${id}/query_tokens`, undefined, 200],
        ['POST', '/records', { record: { key, data: '' } }, 201],
        ['POST', '/records/bulk', { delete: [key] }, 200],
        ['PATCH', `/records/${record.id}`, { record: { data: '' } }, 200],
        ['DELETE', `/records/${record.id}`, undefined, 204],
        ['POST', '/namespaces', { namespace: { name: newName() } }, 201],
        ['POST', `/namespaces/${id}/query_tokens`, { name: 't' }, 201],
        ['DELETE', `/namespaces/${id}/query_tokens/${token.id}`, undefined, 204],
      ];
    };
    for (const operations of [[], ['read'], ['write'], ['read', 'write']]) {
      const key = await customer.key({ operations });
      for (const [method, path, body, status] of await requests()) {
        const needs = method === 'GET' || method === 'HEAD' ? 'read' : 'write';
        const answer = await key.send(method, path, body);
        const label = `${operations.join(' ')} ${method} ${path}`;
        if (operations.length === 0 || operations.includes(needs)) {
          assert.equal(answer.status, status, label);
        } else if (method === 'HEAD') {
          assert.equal(answer.status, 403, label);
        } else {
          assertFailure(answer, 403, 'authorization_error', `API key lacks the ${needs} scope`);
        }
      }
    }
    await world.close();
  },

  'the allowlist: own objects outside it are 403, lists are filtered': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const [inside, outside] = [await customer.namespace(), await customer.namespace()];
    const foreign = await other.namespace();
    const records = [
      await customer.record(`r.${inside.name}.v1`),
      await customer.record(`r.${outside.name}.v1`),
    ];
    const theirs = await other.record(`r.${foreign.name}.v1`);
    const key = await customer.key({ namespaces: [inside.name] });
    const lists = [(await key.get('/namespaces')).json, (await key.get('/records')).json];
    assert.deepEqual(
      lists.map((list) => list.length),
      [1, 1],
    );
    assert.equal((await key.get(`/records/${records[0].id}`)).status, 200);
    created(await key.post('/records', { record: { key: `x.${inside.name}.v1`, data: '' } }));
    created(await key.post(`/namespaces/${inside.id}/query_tokens`, { name: 't' }));

    const denied = 'API key does not reach this namespace';
    const path = `/records/${records[1].id}`;
    for (const answer of [
      await key.get(path),
      await key.patch(path, { record: { data: '' } }),
      await key.del(path),
      await key.post('/records', { record: { key: `x.${outside.name}.v1`, data: '' } }),
      await key.post('/records/bulk', { records: [{ key: `x.${outside.name}.v1`, data: '' }] }),
      await key.post('/records/bulk', { delete: [`r.${outside.name}.v1`] }),
      await key.get(`/namespaces/${outside.id}`),
      await key.del(`/namespaces/${outside.id}`),
      await key.get(`/namespaces/${outside.id}/query_tokens`),
      await key.post(`/namespaces/${outside.id}/query_tokens`, { name: 't' }),
      await key.del(`/namespaces/${outside.id}/query_tokens/${world.deps.newId()}`),
    ]) {
      assertFailure(answer, 403, 'authorization_error', denied);
    }
    assertFailure(
      await key.post('/namespaces', { namespace: { name: newName() } }),
      403,
      'authorization_error',
      'API key is confined to namespaces and cannot create one',
    );
    assertFailure(await key.get(`/records/${theirs.id}`), 404, 'not_found');
    assertFailure(await key.get(`/namespaces/${foreign.id}`), 404, 'not_found');
    assertFailure(
      await key.post('/records', { record: { key: `x.${foreign.name}.v1`, data: '' } }),
      422,
      'validation_error',
      ['key has a namespace that does not exist'],
    );
    // Without its last namespace a key reaches nothing, not everything.
    await customer.del(`/namespaces/${inside.id}`);
    assert.deepEqual((await key.get('/records')).json, []);
    assertFailure(await key.get(`/namespaces/${outside.id}`), 403, 'authorization_error', denied);
    await world.close();
  },

  'endpoints of the account refuse keys': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const key = await customer.key();
    const refused = 'API keys cannot use this endpoint; a customer token is required';
    for (const answer of [
      await key.get('/me'),
      await key.get('/api_keys'),
      await key.post('/api_keys', {}),
      await key.post('/api_keys', { api_key: { name: 'x' } }),
      await key.del(`/api_keys/${key.id}`),
    ]) {
      assertFailure(answer, 403, 'authorization_error', refused);
    }
    await world.close();
  },

  'a key without read is not shown the data that it writes': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const writer = await customer.key({ operations: ['write'] });
    const both = await customer.key();
    const body = { record: { key: `r.${name}.v1`, data: 'c2VjcmV0' } };
    const made = created(await writer.post('/records', body));
    assert.equal('data' in made, false);
    const path = `/records/${made.id}`;
    const patched = await writer.patch(path, { record: { ttl_seconds: 5 } });
    assert.deepEqual([patched.status, 'data' in patched.json, patched.json.ttl_seconds], [200, false, 5]);
    const { data: _, ...rest } = (await customer.get(path)).json;
    assert.deepEqual(patched.json, rest);
    assert.equal((await both.patch(path, { record: { ttl_seconds: 6 } })).json.data, 'c2VjcmV0');
    const bulk = await writer.post('/records/bulk', { records: [body.record] });
    assert.doesNotMatch(bulk.text, /c2VjcmV0/);
    await world.close();
  },

  'a namespace-scoped key mints and revokes tokens of its namespaces, and deletes none of them': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [own, other] = [await customer.namespace(), await customer.namespace()];
    const key = await customer.key({ namespaces: [own.name], operations: ['write'] });
    const reader = await customer.key({ namespaces: [own.name], operations: ['read'] });
    const path = `/namespaces/${own.id}/query_tokens`;
    const token = created(await key.post(path, { name: 't' }));
    assert.equal((await key.del(`${path}/${token.id}`)).status, 204);
    const lacks = 'API key lacks the write scope';
    assertFailure(await reader.post(path, { name: 't' }), 403, 'authorization_error', lacks);
    const beyond = await key.post(`/namespaces/${other.id}/query_tokens`, { name: 't' });
    assertFailure(beyond, 403, 'authorization_error', 'API key does not reach this namespace');
    const confined = 'API key is confined to namespaces and cannot delete one';
    assertFailure(await key.del(`/namespaces/${own.id}`), 403, 'authorization_error', confined);
    const wide = await customer.key({ operations: ['write'] });
    assert.equal((await wide.del(`/namespaces/${own.id}`)).status, 204);
    await world.close();
  },

  'a key ends at its expiry': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const key = await customer.key(undefined, { expires_at: '2026-01-01T00:00:10Z' });
    world.advance(9_999);
    assert.equal((await key.get('/records')).status, 200);
    world.advance(1);
    assertFailure(await key.get('/records'), 401, 'authentication_error');
    await world.close();
  },

  'last_used_at moves at most once a minute': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const key = await customer.key();
    // The use is noted beside the request, in a unit of work that has begun before the answer.
    const use = async (): Promise<string> => {
      await key.get('/records');
      await world.settle();
      return (await customer.get('/api_keys')).json[0].last_used_at;
    };
    assert.equal(await use(), '2026-01-01T00:00:00.000Z');
    world.advance(59_999);
    assert.equal(await use(), '2026-01-01T00:00:00.000Z');
    world.advance(1);
    assert.equal(await use(), '2026-01-01T00:01:00.000Z');
    await world.close();
  },

  'the number of keys is bounded': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (let i = 0; i < LIMITS.apiKeysPerCustomer; i++) await customer.key();
    assertFailure(
      await customer.post('/api_keys', { api_key: { name: 'more' } }),
      422,
      'quota_exceeded',
      'API key limit of the account reached',
    );
    await world.close();
  },

  'only the digest of a token is stored': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const key = await customer.key();
    const row = await firstRow(store.read, 'api_keys', { columns: ['digest'], where: { id: key.id } });
    assert.equal(row?.digest, createHash('sha256').update(key.token).digest('hex'));
    await world.close();
  },
});
