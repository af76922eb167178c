import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { InjectOptions } from 'fastify';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { assertFailure, openWorld } from '../../test/support/http/world.ts';
import { LIMITS } from '../base/limits.ts';
import type { Store } from '../store/store.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const NOT_JSON = 'Body is not valid JSON';
const FORBIDDEN = 'Body must not have a field __proto__, or constructor with prototype';
const NO_RECORD = 'Body must have an object record';

const NO_OBJECT = 'Body must be a JSON object';
const TOO_DEEP = `Body must have at most ${LIMITS.bodyDepth} levels`;

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** Bodies of POST /records that have the wrong shape: 400 or 413 or 415. */
const SHAPES: readonly (readonly [string, Pick<InjectOptions, 'headers' | 'payload'>, number, string])[] = [
  ['no body', {}, 400, NO_OBJECT],
  ['an empty body', { headers: JSON_TYPE, payload: '' }, 400, NO_OBJECT],
  ['half of a body', { headers: JSON_TYPE, payload: '{"record":' }, 400, NOT_JSON],
  ['a trailing comma', { headers: JSON_TYPE, payload: '{"record":{},}' }, 400, NOT_JSON],
  ['bad UTF-8', { headers: JSON_TYPE, payload: Buffer.from('7b22c328223a317d', 'hex') }, 400, NOT_JSON],
  ['__proto__', { headers: JSON_TYPE, payload: '{"record":{"__proto__":{"key":"x"}}}' }, 400, FORBIDDEN],
  [
    'constructor.prototype',
    { headers: JSON_TYPE, payload: '{"record":{"constructor":{"prototype":{}}}}' },
    400,
    FORBIDDEN,
  ],
  ['an array', { headers: JSON_TYPE, payload: '[]' }, 400, NO_OBJECT],
  ['null', { headers: JSON_TYPE, payload: 'null' }, 400, NO_OBJECT],
  ['a string', { headers: JSON_TYPE, payload: '"record"' }, 400, NO_OBJECT],
  ['no envelope', { headers: JSON_TYPE, payload: '{"key":"x","data":""}' }, 400, NO_RECORD],
  ['a null envelope', { headers: JSON_TYPE, payload: '{"record":null}' }, 400, NO_RECORD],
  ['a list in the envelope', { headers: JSON_TYPE, payload: '{"record":[]}' }, 400, NO_RECORD],
  ['an inherited envelope', { headers: JSON_TYPE, payload: '{"toString":{}}' }, 400, NO_RECORD],
  ['as many levels as are read', { headers: JSON_TYPE, payload: nested(LIMITS.bodyDepth) }, 400, NO_OBJECT],
  ['a level more', { headers: JSON_TYPE, payload: nested(LIMITS.bodyDepth + 1) }, 400, TOO_DEEP],
  ['deep nesting', { headers: JSON_TYPE, payload: nested(30_000) }, 400, TOO_DEEP],
  [
    'text',
    { headers: { 'content-type': 'text/plain' }, payload: '{}' },
    415,
    'Content-Type must be application/json',
  ],
  [
    'a form',
    { headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: 'a=b' },
    415,
    'Content-Type must be application/json',
  ],
  [
    'no media type',
    { headers: { 'content-type': '' }, payload: '{"record":{}}' },
    415,
    'Content-Type must be application/json',
  ],
  [
    'a name twice',
    { headers: JSON_TYPE, payload: '{"record":{"data":"","data":"eA=="}}' },
    400,
    'Body has a field twice',
  ],
  [
    'a compressed body',
    { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, payload: gzipSync('{"record":{}}') },
    415,
    'Content-Encoding must be identity',
  ],
  [
    'a coding that is none',
    { headers: { ...JSON_TYPE, 'content-encoding': 'Identity' }, payload: '{}' },
    400,
    NO_RECORD,
  ],
  [
    'a body too large',
    { headers: JSON_TYPE, payload: `{"record":"${'x'.repeat(LIMITS.requestBody)}"}` },
    413,
    'Body is too large',
  ],
];

/** Requests that no route takes: path, method, status, Allow. */
const UNROUTED: readonly (readonly [string, string, number, string?])[] = [
  ['/', 'GET', 404],
  ['/api', 'GET', 404],
  ['/api/v1', 'GET', 404],
  ['/api/v2/records', 'GET', 404],
  ['/api/v1/nothing', 'GET', 404],
  ['/api/v1/nothing', 'POST', 404],
  ['/api/v1/records/x/y', 'GET', 404],
  ['/api/v1/records', 'PUT', 405, 'GET, HEAD, POST'],
  ['/api/v1/records', 'DELETE', 405, 'GET, HEAD, POST'],
  ['/api/v1/records?limit=5', 'OPTIONS', 405, 'GET, HEAD, POST'],
  ['/api/v1/records/x', 'PUT', 405, 'DELETE, GET, HEAD, PATCH'],
  ['/api/v1/records/bulk', 'PUT', 405, 'POST'],
  ['/api/v1/records/bulk', 'GET', 405, 'POST'],
  ['/api/v1/records/bulk?limit=1', 'PATCH', 405, 'POST'],
  ['/api/v1/records/bulk', 'DELETE', 405, 'POST'],
  ['/api/v1/webhooks/events', 'PATCH', 405, 'GET, HEAD'],
  ['/api/v1/webhooks/events', 'DELETE', 405, 'GET, HEAD'],
  ['/api/v1/webhooks/events', 'PUT', 405, 'GET, HEAD'],
  ['/api/v1/namespaces', 'PATCH', 405, 'GET, HEAD, POST'],
  ['/api/v1/api_keys', 'PATCH', 405, 'GET, HEAD, POST'],
  ['/api/v1/api_keys/x', 'GET', 405, 'DELETE'],
  ['/api/v1/namespaces/x/query_tokens/y', 'GET', 405, 'DELETE'],
  ['/api/v1/me', 'POST', 405, 'DELETE, GET, HEAD'],
  ['/api/v1/me', 'TRACE', 405, 'DELETE, GET, HEAD'],
];

apiScenarios('errors', {
  'bodies of the wrong shape': async (store) => {
    const world = await openWorld(store);
    const { token } = await world.customer();
    for (const [label, { headers, payload }, status, message] of SHAPES) {
      const answer = await world.inject({
        method: 'POST',
        url: '/api/v1/records',
        headers: { authorization: `Bearer ${token}`, ...headers },
        ...(payload !== undefined && { payload }),
      });
      assert.equal(answer.status, status, label);
      assertFailure(answer, status, 'validation_error', message);
    }
    await world.close();
  },

  'the largest bodies that are read': async (store) => {
    const world = await openWorld(store);
    const { token } = await world.customer();
    for (const [path, max] of [
      ['/records', LIMITS.requestBody],
      ['/records/bulk', LIMITS.bulkBody],
    ] as const) {
      for (const [length, status] of [
        [max, 400],
        [max + 1, 413],
      ] as const) {
        const answer = await world.inject({
          method: 'POST',
          url: `/api/v1${path}`,
          headers: { authorization: `Bearer ${token}`, ...JSON_TYPE },
          payload: 'x'.repeat(length),
        });
        assertFailure(answer, status, 'validation_error', status === 413 ? 'Body is too large' : NOT_JSON);
      }
    }
    await world.close();
  },

  'a body has at most 20,000 values, and a bulk body 8 levels': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const send = (path: string, text: string) => customer.send('POST', path, text, JSON_TYPE);
    const tooMany = [`Body must have at most ${LIMITS.bodyValues} values`];
    for (const path of ['/records', '/records/bulk']) {
      // The array itself is a value.
      const numbers = (count: number): string => `[${'1,'.repeat(count - 2)}1]`;
      assertFailure(await send(path, numbers(LIMITS.bodyValues)), 400, 'validation_error', NO_OBJECT);
      assertFailure(await send(path, numbers(LIMITS.bodyValues + 1)), 422, 'validation_error', tooMany);
    }
    const tooDeep = `Body must have at most ${LIMITS.bulkDepth} levels`;
    const bulk = (levels: number): string => `{"records":[${nested(levels - 2)}]}`;
    const noObject = ['records[0] must be an object'];
    assertFailure(await send('/records/bulk', bulk(LIMITS.bulkDepth)), 422, 'validation_error', noObject);
    assertFailure(await send('/records/bulk', bulk(LIMITS.bulkDepth + 1)), 400, 'validation_error', tooDeep);
    await world.close();
  },

  'fields beside the envelope': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const beside = await customer.post('/namespaces', { namespace: { name: 'x' }, dry_run: true });
    assertFailure(beside, 422, 'validation_error', ['dry_run is not a known field']);
    const wrong = await customer.post('/namespaces', { record: {} });
    assertFailure(wrong, 400, 'validation_error', 'Body must have an object namespace');
    await world.close();
  },

  'unknown paths and methods': async (store) => {
    const world = await openWorld(store);
    for (const [url, method, status, allow] of UNROUTED) {
      // Same answer without a credential and with any body.
      for (const body of [{}, { payload: 'x', headers: { 'content-type': 'text/plain' } }]) {
        const answer = await world.inject({ method: method as 'GET', url, ...body });
        if (status === 404) assertFailure(answer, 404, 'not_found', 'Route not found');
        else assertFailure(answer, 405, 'validation_error', 'Method is not allowed here');
        assert.equal(answer.headers.allow, allow, `${method} ${url}`);
      }
    }
    await world.close();
  },

  'URLs that cannot be read': async (store) => {
    const world = await openWorld(store);
    const answer = await world.inject({ method: 'GET', url: '/api/v1/records/%zz' });
    assertFailure(answer, 400, 'validation_error', 'URL is malformed');
    await world.close();
  },

  'ids that are no UUID are like ids of nothing': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const id of [
      'x',
      '1',
      '%00',
      '00000000-0000-0000-0000-00000000000',
      'a'.repeat(100),
      world.deps.newId(),
    ]) {
      assertFailure(await customer.get(`/records/${id}`), 404, 'not_found', 'Record not found');
      assertFailure(await customer.del(`/records/${id}`), 404, 'not_found', 'Record not found');
      assertFailure(await customer.get(`/namespaces/${id}`), 404, 'not_found', 'Namespace not found');
      assertFailure(await customer.del(`/api_keys/${id}`), 404, 'not_found', 'API key not found');
      assertFailure(await customer.get(`/namespaces/${id}/query_tokens`), 404, 'not_found');
    }
    await world.close();
  },

  'a DELETE may announce JSON and send nothing': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const { id } = await customer.record(`r.${name}.v1`);
    const answer = await world.inject({
      method: 'DELETE',
      url: `/api/v1/records/${id}`,
      headers: { authorization: `Bearer ${customer.token}`, ...JSON_TYPE },
    });
    assert.equal(answer.status, 204);
    await world.close();
  },

  'HEAD answers like GET, without the body': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    for (const path of [
      '/me',
      '/records',
      '/records?limit=1',
      '/namespaces',
      `/namespaces/${id}`,
      '/api_keys',
    ]) {
      const head = await customer.send('HEAD', path);
      assert.deepEqual([head.status, head.text], [200, ''], path);
    }
    assert.equal((await customer.send('HEAD', '/records/x')).status, 404);
    await world.close();
  },

  'a failure of ours is told as such, to us in full, to the caller not at all': async (store) => {
    let broken = false;
    const cause = new Error('password of the database is hunter2');
    const wrap = (real: Store): Store => ({
      engine: real.engine,
      read: real.read,
      changes: real.changes,
      onWork: (topic, listener) => real.onWork(topic, listener),
      onCommit: (listener) => real.onCommit(listener),
      write: (work) => (broken ? Promise.reject(cause) : real.write(work)),
      scrub: () => real.scrub(),
      ping: () => real.ping(),
      close: () => real.close(),
    });
    const world = await openWorld(store, { wrap });
    const customer = await world.customer();
    broken = true;
    const answer = await customer.post('/namespaces', { namespace: { name: 'never' } });
    assertFailure(answer, 500, 'server_error', 'Server error');
    assert.deepEqual(world.errors, [cause]);
    await world.close();
  },

  'metrics learn the template of a route, never the URL': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    world.observations.length = 0;
    await customer.get('/records?namespace=secret');
    await customer.get('/records/5a0bd4f4-6c4f-4d93-a9c9-000000000000');
    await customer.send('HEAD', '/me');
    await customer.get('/secret');
    await customer.patch('/me', {});
    assert.deepEqual(
      world.observations.map(({ route, method, status }) => [route, method, status]),
      [
        ['/api/v1/records', 'GET', 200],
        ['/api/v1/records/:id', 'GET', 404],
        ['/api/v1/me', 'HEAD', 200],
        ['unmatched', 'GET', 404],
        ['unmatched', 'PATCH', 405],
      ],
    );
    assert.ok(world.observations.every(({ seconds }) => seconds >= 0 && seconds < 60));
    await world.close();
  },
});
