import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  type Json,
  newName,
  openWorld,
  type World,
} from '../../../test/support/http/world.ts';

/** Three records a second apart in one namespace, two in another; the listing runs by namespace, then by time. */
async function filled(world: World) {
  const customer = await world.customer();
  const [a, b] = [await customer.namespace(), await customer.namespace()];
  const names = [a.name, b.name].sort() as [string, string];
  const records: Json[] = [];
  for (const [ns, resource, ttl] of [
    [names[0], 'x', 10],
    [names[0], 'y', 20],
    [names[0], 'x', 30],
    [names[1], 'x', 40],
    [names[1], 'z', 50],
  ] as const) {
    const key = `k${records.length}.${resource}.${ns}.v1`;
    records.push(await customer.record(key, { ttl_seconds: ttl }));
    world.advance(1000);
  }
  return { customer, names, records };
}

async function keysAt(caller: Caller, path: string): Promise<string[]> {
  const answer = await caller.get(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.map((record: Json) => record.key.split('.')[0]);
}

function nextOf(link: unknown): string | null {
  const match = /^<https:\/\/api\.example\.test\/api\/v1(\/[^>]+)>; rel="next"$/.exec(
    typeof link === 'string' ? link : '',
  );
  return match?.[1] ?? null;
}

/** Every page in turn. */
async function walk(caller: Caller, path: string): Promise<Json[][]> {
  const pages: Json[][] = [];
  for (let at: string | null = path; at !== null; ) {
    const answer = await caller.get(at);
    assert.equal(answer.status, 200, answer.text);
    pages.push(answer.json);
    at = nextOf(answer.headers.link);
  }
  return pages;
}

const UNREADABLE: readonly (readonly [string, string])[] = [
  ['ttl_min=x', 'ttl_min is not a whole number of seconds'],
  ['ttl_min=', 'ttl_min is not a whole number of seconds'],
  ['ttl_max=1.5', 'ttl_max is not a whole number of seconds'],
  ['ttl_max=1e3', 'ttl_max is not a whole number of seconds'],
  ['created_after=yesterday', 'created_after is not an ISO 8601 date, or date and time with a zone'],
  ['created_after=2026-01-32', 'created_after is not an ISO 8601 date, or date and time with a zone'],
  [
    'created_before=2026-02-30T00:00:00Z',
    'created_before is not an ISO 8601 date, or date and time with a zone',
  ],
  ['namespace=', 'namespace is not a namespace name'],
  ['namespace=a_b', 'namespace is not a namespace name'],
  ['namespace=%00', 'namespace is not a namespace name'],
  ['resource=a.b', 'resource is not a resource label'],
  ['limit=0', 'limit is not a number from 1 to 500'],
  ['limit=501', 'limit is not a number from 1 to 500'],
  ['limit=-1', 'limit is not a number from 1 to 500'],
  ['limit=ten', 'limit is not a number from 1 to 500'],
  ['cursor=', 'cursor is not a cursor of this listing'],
  ['cursor=%7B%7D', 'cursor is not a cursor of this listing'],
  ['cursor=e30', 'cursor is not a cursor of this listing'],
  ['cursor=AAAA', 'cursor is not a cursor of this listing'],
  ['colour=red', 'colour is not a known parameter'],
  ['my%20colour=red', 'my colour is not a known parameter'],
  ['limit=5&f%C3%A4rbe=rot', 'parameter 2 is not a known parameter'],
  [`${'x'.repeat(65)}=1`, 'parameter 1 is not a known parameter'],
  ['key=', 'key is not a record key, in letters, digits, hyphens and dots'],
  ['key=%25', 'key is not a record key, in letters, digits, hyphens and dots'],
  ['key_prefix=a_b', 'key_prefix is not the start of a record key, in letters, digits, hyphens and dots'],
  // KELVIN SIGN: lower case would make an ASCII k of it.
  ['resource=%E2%84%AA', 'resource is not a resource label'],
  ['namespace=aaa&namespace=bbb', 'namespace is given more than once'],
];

apiScenarios('listing', {
  'namespaces are listed by their bytes, whatever language the database sorts by': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const stem = newName();
    const names = [`${stem}-a`, `${stem}1`, `${stem}a`];
    for (const name of names.toReversed()) await customer.namespace(name);
    const listed = (await customer.get('/namespaces')).json;
    assert.deepEqual(
      listed.map(({ name }: { name: string }) => name),
      names,
    );
    const keys = names.flatMap((name) => [0, 1].map((i) => `k${i}.r.${name}.v1`));
    for (const key of keys) {
      world.advance(1);
      await customer.record(key);
    }
    const keyOf = ({ key }: { key: string }): string => key;
    assert.deepEqual((await customer.get('/records')).json.map(keyOf), keys);
    const paged: string[] = [];
    for (let path: string | undefined = '/records?limit=1'; path !== undefined; ) {
      const answer = await customer.get(path);
      paged.push(...answer.json.map(keyOf));
      const { link } = answer.headers;
      path = typeof link === 'string' ? /\/records\?[^>]*/.exec(link)?.[0] : undefined;
    }
    assert.deepEqual(paged, keys);
    await world.close();
  },

  'filters narrow, alone and together': async (store) => {
    const world = await openWorld(store);
    const { customer, names } = await filled(world);
    const second = (n: number): string => `2026-01-01T00:00:0${n}.000Z`;
    for (const [query, keys] of [
      ['', 'k0 k1 k2 k3 k4'],
      [`namespace=${names[0]}`, 'k0 k1 k2'],
      [`namespace=${names[1].toUpperCase()}`, 'k3 k4'],
      ['namespace=nobody', ''],
      ['resource=x', 'k0 k2 k3'],
      ['resource=X', 'k0 k2 k3'],
      ['key_prefix=k', 'k0 k1 k2 k3 k4'],
      ['key_prefix=K3.', 'k3'],
      ['key_prefix=-', ''],
      [`key=k1.y.${names[0]}.v1`, 'k1'],
      ['ttl_min=20', 'k1 k2 k3 k4'],
      ['ttl_max=20', 'k0 k1'],
      ['ttl_min=20&ttl_max=40', 'k1 k2 k3'],
      ['ttl_min=-5', 'k0 k1 k2 k3 k4'],
      [`created_after=${second(1)}`, 'k2 k3 k4'],
      [`created_before=${second(1)}`, 'k0'],
      [`created_after=${second(0)}&created_before=${second(3)}`, 'k1 k2'],
      [`namespace=${names[0]}&resource=x&ttl_min=11`, 'k2'],
      ['created_after=2025-12-31', 'k0 k1 k2 k3 k4'],
      ['created_before=2026-01-01', ''],
      ['created_after=2026-01-01T00:00Z', 'k1 k2 k3 k4'],
    ] as const) {
      const expected = keys === '' ? [] : keys.split(' ');
      assert.deepEqual(await keysAt(customer, `/records?${query}`), expected, query);
      assert.deepEqual(await keysAt(customer, `/records?limit=500&${query}`), expected, query);
    }
    await world.close();
  },

  'pages put together are the whole': async (store) => {
    const world = await openWorld(store);
    const { customer, records } = await filled(world);
    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const pages = await walk(customer, `/records?limit=${limit}`);
      assert.deepEqual(pages.flat(), records);
      assert.equal(pages.length, Math.ceil(5 / limit));
      assert.ok(pages.every((page) => page.length <= limit));
    }
    const filtered = await walk(customer, '/records?resource=x&limit=1');
    assert.deepEqual(
      filtered.flat().map((record) => record.key[1]),
      ['0', '2', '3'],
    );
    await world.close();
  },

  'a page stays in its place while records come and go': async (store) => {
    const world = await openWorld(store);
    const { customer, names, records } = await filled(world);
    const first = await customer.get('/records?limit=2');
    const next = nextOf(first.headers.link)!;
    await customer.del(`/records/${records[1].id}`);
    await customer.record(`new.x.${names[0]}.v1`);
    assert.deepEqual(await keysAt(customer, next), ['k2', 'new']);
    await world.close();
  },

  'a cursor belongs to its filters': async (store) => {
    const world = await openWorld(store);
    const { customer, records } = await filled(world);
    const { headers } = await customer.get('/records?limit=2');
    const cursor = new URLSearchParams(nextOf(headers.link)!.split('?')[1]).get('cursor')!;
    assert.deepEqual((await customer.get(`/records?cursor=${cursor}`)).json, records.slice(2));
    assert.deepEqual((await customer.get(`/records?cursor=${cursor}&limit=1`)).json, [records[2]]);
    for (const path of [
      `cursor=${cursor}&resource=x`,
      `cursor=${cursor.slice(0, -2)}`,
      `cursor=${cursor}AA`,
    ]) {
      assertFailure(
        await customer.get(`/records?${path}`),
        400,
        'validation_error',
        'cursor is not a cursor of this listing',
      );
    }
    await world.close();
  },

  'parameters that cannot be read are 400 and named': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const [query, message] of UNREADABLE) {
      assertFailure(await customer.get(`/records?${query}`), 400, 'validation_error', message);
    }
    await world.close();
  },

  'a key sees only its namespaces, without being refused': async (store) => {
    const world = await openWorld(store);
    const { customer, names } = await filled(world);
    const key = await customer.key({ namespaces: [names[1]] });
    assert.deepEqual(await keysAt(key, '/records'), ['k3', 'k4']);
    assert.deepEqual(await keysAt(key, '/records?limit=1'), ['k3']);
    assert.deepEqual(await keysAt(key, `/records?namespace=${names[0]}`), []);
    await world.close();
  },

  'without limit and cursor everything is streamed': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const total = 1100;
    for (let start = 0; start < total; start += 500) {
      const records = Array.from({ length: Math.min(500, total - start) }, (_, i) => ({
        key: `k${start + i}.r.${name}.v1`,
        data: 'aGk=',
      }));
      assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    }
    const { json, headers } = await customer.get('/records');
    assert.equal(json.length, total);
    assert.equal(new Set(json.map((record: Json) => record.key)).size, total);
    assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    assert.equal(headers.link, undefined);
    assert.deepEqual((await walk(customer, '/records?limit=500')).flat(), json);
    const head = await customer.send('HEAD', '/records');
    assert.deepEqual([head.status, head.text], [200, '']);
    await world.close();
  },
});
