import assert from 'node:assert/strict';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { assertFailure, type Customer, openWorld } from '../../test/support/http/world.ts';

/** Bodies in which every field is wrong, and the fields that the messages must begin with. */
const FAULTY: readonly (readonly [path: string, body: object, fields: readonly string[]])[] = [
  [
    '/records',
    { record: { key: 1, data: '=', content_type: 'x', ttl_seconds: '1', expires_at: 'x', 'my field': 1 } },
    ['my field', 'key', 'data', 'content_type', 'ttl_seconds', 'expires_at'],
  ],
  [
    '/records',
    { record: { key: 'x', data: 'aGk=', expires_in: 1, expires_at: null } },
    ['key', 'expires_in'],
  ],
  ['/records', { record: { key: 'r.never-made.v1', data: '' } }, ['key']],
  ['/records', { record: {}, extra: 1 }, ['extra']],
  ['/records/bulk', { records: 1, delete: 1, x: 1 }, ['x', 'records', 'delete']],
  ['/records/bulk', {}, ['records']],
  [
    '/records/bulk',
    { records: [1, { key: 'a_.b.c', data: 1 }, { key: 'r.never-made.v1', data: '' }], delete: [1] },
    ['records[0]', 'records[1].key', 'records[1].data', 'delete[0]'],
  ],
  ['/records/bulk', { records: [{ key: 'r.never-made.v1', data: '' }] }, ['records[0].key']],
  ['/namespaces', { namespace: { name: '-', public_read: true } }, ['public_read', 'name', 'name']],
  ['/namespaces', { namespace: { name: 'public' } }, ['name']],
  ['/namespaces', { namespace: { name: 'auth-x' } }, ['name']],
  [
    '/api_keys',
    { api_key: { name: '', scopes: { operations: ['x'], namespaces: 'x', z: 1 }, expires_at: '1999-01-01' } },
    ['name', 'scopes.z', 'scopes.operations', 'scopes.namespaces', 'expires_at'],
  ],
  ['/api_keys', { api_key: { name: 'x', scopes: { namespaces: ['never-made'] } } }, ['scopes.namespaces']],
  ['/namespaces/ID/query_tokens', { name: 5, expires_in_days: 0, ' ': 1 }, [' ', 'name', 'expires_in_days']],
  [
    '/webhooks',
    { webhook: { name: 1, url: 1, events: [], scopes: { namespaces: [1] } } },
    ['name', 'url', 'events', 'scopes.namespaces'],
  ],
];

const PATCHES: readonly (readonly [resource: string, body: object, fields: readonly string[]])[] = [
  ['records', { record: {} }, ['record']],
  ['records', { record: { key: 'x', ttl_seconds: -1 } }, ['key', 'ttl_seconds']],
  ['webhooks', { webhook: {} }, ['webhook']],
  ['webhooks', { webhook: { enabled: 1 } }, ['enabled']],
];

/** Lists, and what each is a list of. */
const LISTS = ['/records', '/namespaces', '/namespaces/ID/query_tokens', '/api_keys', '/webhooks'];
const MORE_LISTS = ['/webhooks/events', '/webhooks/WEBHOOK/deliveries'];

async function ids(customer: Customer): Promise<Readonly<Record<string, string>>> {
  const { id, name } = await customer.namespace();
  const [record, webhook] = [await customer.record(`r.${name}.v1`), await customer.webhook()];
  return { ID: id, records: record.id, webhooks: webhook.id };
}

apiScenarios('messages', {
  'every message of a validation begins with the field, spelled as in the body': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const own = await ids(customer);
    const answers = [
      ...FAULTY.map(
        ([path, body, fields]) => ['POST', path.replace('ID', own.ID ?? ''), body, fields] as const,
      ),
      ...PATCHES.map(
        ([resource, body, fields]) => ['PATCH', `/${resource}/${own[resource]}`, body, fields] as const,
      ),
    ];
    for (const [method, path, body, fields] of answers) {
      const answer = await customer.send(method, path, body);
      assertFailure(answer, 422, 'validation_error');
      const messages: string[] = answer.json.errors;
      assert.equal(messages.length, fields.length, answer.text);
      for (const [i, field] of fields.entries()) {
        assert.ok(messages[i]!.startsWith(`${field} `), `${method} ${path}: ${messages[i]}`);
      }
    }
    await world.close();
  },

  'unknown query parameters are refused on every list, by their names where these can be repeated': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const own = await ids(customer);
    for (const list of [...LISTS, ...MORE_LISTS]) {
      const path = list.replace('ID', own.ID ?? '').replace('WEBHOOK', own.webhooks ?? '');
      for (const [query, message] of [
        ['page=2', 'page is not a known parameter'],
        ['a%20b=', 'a b is not a known parameter'],
        [`${'x'.repeat(64)}=1`, `${'x'.repeat(64)} is not a known parameter`],
        [`${'x'.repeat(65)}=1`, 'parameter 1 is not a known parameter'],
        ['%C3%BC=1', 'parameter 1 is not a known parameter'],
        ['a%0Ab=1', 'parameter 1 is not a known parameter'],
      ] as const) {
        assertFailure(await customer.get(`${path}?${query}`), 400, 'validation_error', message);
      }
    }
    await world.close();
  },

  'names have 1 to 100 code points, not UTF-16 units': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const name = '👩'.repeat(100);
    const longer = { name: `${name}x` };
    const message = ['name must have at most 100 characters'];
    for (const [path, wrap] of [
      ['/api_keys', (it: object) => ({ api_key: it })],
      [`/namespaces/${id}/query_tokens`, (it: object) => it],
      [
        '/webhooks',
        (it: object) => ({ webhook: { url: 'https://e.example/', events: ['record.deleted'], ...it } }),
      ],
    ] as const) {
      const made = await customer.post(path, wrap({ name }));
      assert.deepEqual([made.status, made.json.name], [201, name], made.text);
      assertFailure(await customer.post(path, wrap(longer)), 422, 'validation_error', message);
    }
    await world.close();
  },
});
