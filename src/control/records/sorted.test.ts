import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  type Json,
  newName,
  openWorld,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { RECORD_SORTS } from '../../store/record-order.ts';
import { upsertRecords } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

const keyOf = ({ key }: { readonly key: string }): string => key;

/** All pages of a listing, one after the other. @param between called before each further page */
async function walk(caller: Caller, query: string, between = async (): Promise<void> => {}) {
  const keys: string[] = [];
  const matched: unknown[] = [];
  for (let path: string | undefined = `/records?${query}`; path !== undefined; ) {
    const { status, json, headers, text } = await caller.get(path);
    assert.equal(status, 200, text);
    keys.push(...json.map(keyOf));
    matched.push(headers['x-matched-by']);
    path = /\/records\?[^>]*/.exec(headers.link?.toString() ?? '')?.[0];
    if (path !== undefined) await between();
  }
  return { keys, matched: [...new Set(matched)] };
}

/** Adds records straight to the store, with the count of their namespace. */
async function fill(store: Store, namespace: { id: string; name: string }, resource: string, count: number) {
  const now = Date.parse('2026-01-01T00:00:00Z');
  for (let start = 0; start < count; start += 500) {
    const rows = Array.from({ length: Math.min(500, count - start) }, (_, i) => ({
      id: randomUUID(),
      namespace_id: namespace.id,
      key: `k${start + i}.${resource}.${namespace.name}.v1`,
      resource,
      version: 'v1',
      data: Buffer.from('a'),
      content_type: 'text/plain',
      ttl_seconds: 1,
      expires_at: null,
      created_at: now + start + i,
      updated_at: now,
      revision: 1,
      encoding: null,
    }));
    await store.write(async (tx) => {
      await upsertRecords(tx, rows);
      const text = `update namespaces set records_count = records_count + ${rows.length} where id = '${namespace.id}'`;
      await tx.execute(text, []);
    });
  }
}

apiScenarios('listing in an order, and search', {
  'an order runs across namespaces, small and large, on pages of any size': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [a, b, c] = [await customer.namespace(), await customer.namespace(), await customer.namespace()];
    const made: string[] = [];
    for (const [at, { name }] of [a, b, c, a, b, c, a].entries()) {
      const key = `${String.fromCharCode(106 - at)}.r.${name}.v1`;
      await customer.record(key);
      made.push(key);
      world.advance(at % 2);
    }
    // Above a thousand records a namespace is read alone.
    await fill(store, b as { id: string; name: string }, 'many', 1_001);
    const all = (await customer.get('/records')).json.map(keyOf);
    for (const limit of [2, 500]) {
      const query = (sort: string): string => `sort=${sort}&limit=${limit}&resource=r`;
      assert.deepEqual((await walk(customer, query('key'))).keys, made.toReversed());
      assert.deepEqual((await walk(customer, query('-key'))).keys, made);
      const changed = (await walk(customer, query('updated_at'))).keys;
      assert.deepEqual((await walk(customer, query('-updated_at'))).keys, changed.toReversed());
      assert.deepEqual(new Set(changed), new Set(made));
    }
    for (const sort of RECORD_SORTS) {
      const { keys } = await walk(customer, `sort=${sort}&limit=400`);
      assert.equal(keys.length, all.length);
      assert.deepEqual(new Set(keys), new Set(all), sort);
    }
    await world.close();
  },

  'writes between two pages make none appear twice, and hide none that stays as it is': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const records: Json[] = [];
    for (const letter of 'bdfhjl') {
      records.push(await customer.record(`${letter}.r.${name}.v1`));
      world.advance(1);
    }
    for (const sort of RECORD_SORTS) {
      let turn = 0;
      const { keys } = await walk(customer, `sort=${sort}&limit=2`, async () => {
        const [first] = records;
        await customer.record(`${sort.endsWith('key') ? 'a' : 'z'}${turn++}${randomUUID()}.r.${name}.v1`);
        if (sort === '-updated_at')
          await customer.patch(`/records/${first!.id}`, { record: { ttl_seconds: turn } });
      });
      assert.equal(new Set(keys).size, keys.length, sort);
      for (const { key } of records.slice(1)) assert.ok(keys.includes(key), `${sort} ${key}`);
      world.advance(1);
    }
    await world.close();
  },

  'a search is a prefix, else a resource, else a namespace, and says which': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [newName(), newName()];
    for (const name of [one, two]) await customer.namespace(name);
    await customer.record(`user-1.dark-mode.${one}.v1`);
    await customer.record(`user-2.dark-mode.${two}.v1`);
    await customer.record(`dark.temp.${two}.v1`);
    const find = async (query: string) => {
      const { keys, matched } = await walk(customer, `limit=1&${query}`);
      return [matched, keys.map((key) => key.split('.', 2).join('.'))];
    };
    assert.deepEqual(await find('q=user'), [['key_prefix'], ['user-1.dark-mode', 'user-2.dark-mode']]);
    assert.deepEqual(await find('q=USER-1.'), [['key_prefix'], ['user-1.dark-mode']]);
    assert.deepEqual(await find('q=dark'), [['key_prefix'], ['dark.temp']]);
    assert.deepEqual(await find('q=dark-mode'), [['resource'], ['user-1.dark-mode', 'user-2.dark-mode']]);
    assert.deepEqual(await find(`q=dark-mode&namespace=${two}`), [['resource'], ['user-2.dark-mode']]);
    assert.deepEqual(await find(`q=${two}`), [['namespace'], ['dark.temp', 'user-2.dark-mode']]);
    assert.deepEqual(await find(`q=${two}&sort=-key`), [['namespace'], ['user-2.dark-mode', 'dark.temp']]);
    assert.deepEqual(await find(`q=${two}&namespace=${one}`), [['nothing'], []]);
    assert.deepEqual(await find(`q=${two.slice(0, -1)}`), [['nothing'], []]);
    assert.deepEqual(await find('q=user&key_prefix=user-2'), [['key_prefix'], ['user-2.dark-mode']]);
    assert.equal((await customer.get('/records?limit=1')).headers['x-matched-by'], undefined);
    // What the first page found holds for those after, whatever is written meanwhile.
    const { keys, matched } = await walk(customer, 'q=dark-mode&limit=1', async () => {
      await customer.record(`dark-mode-2.temp.${one}.v1`);
    });
    assert.deepEqual([matched, keys.length], [['resource'], 2]);
    await world.close();
  },

  'a key gives one record or none, in any order and beside a search': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [a, b] = [await customer.namespace(), await customer.namespace()];
    const key = `k.res.${a.name}.v1`;
    for (const other of [`k.res.${b.name}.v1`, `a.${key}`, `k.res2.${a.name}.v1`, `k.res.${a.name}.v10`])
      await customer.record(other);
    for (const isThere of [false, true]) {
      if (isThere) await customer.record(key);
      const found = isThere ? [key] : [];
      for (const query of [
        ...RECORD_SORTS.map((sort) => `sort=${sort}`),
        'sort=key&key_prefix=k.',
        'sort=-updated_at&resource=res&ttl_min=0',
        ...['k', 'res', a.name].map((q) => `q=${q}&sort=updated_at`),
      ]) {
        assert.deepEqual((await walk(customer, `key=${key}&limit=1&${query}`)).keys, found, query);
      }
      for (const query of ['sort=key&key_prefix=l', `sort=-key&namespace=${b.name}`, 'q=res2'])
        assert.deepEqual((await walk(customer, `key=${key}&${query}`)).keys, [], query);
    }
    const { matched } = await walk(customer, `key=${key}&q=res`);
    assert.deepEqual(matched, ['resource']);
    await world.close();
  },

  'it reaches what the credential reaches': async (store) => {
    const world = await openWorld(store);
    const [customer, stranger] = [await world.customer(), await world.customer()];
    const [a, b] = [await customer.namespace(), await customer.namespace()];
    await customer.record(`k1.res.${a.name}.v1`);
    await customer.record(`k2.res.${b.name}.v1`);
    const key = await customer.key({ namespaces: [b.name] });
    for (const query of ['q=k', 'q=res', 'sort=key']) {
      assert.deepEqual((await walk(key, query)).keys, [`k2.res.${b.name}.v1`]);
      assert.deepEqual((await walk(stranger, query)).keys, []);
    }
    assert.deepEqual((await walk(key, `q=${a.name}`)).matched, ['nothing']);
    assert.deepEqual((await key.get('/records/facets')).json.namespaces, [{ name: b.name, records: 1 }]);
    assert.deepEqual((await stranger.get('/records/facets')).json.resources, []);
    const writer = await customer.key({ operations: ['write'] });
    assert.equal((await writer.get('/records/facets')).status, 403);
    await world.close();
  },

  'parameters and cursors that cannot be read are 400': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    for (const letter of 'abc') await customer.record(`${letter}.r.${name}.v1`);
    const { headers } = await customer.get('/records?sort=key&limit=1');
    const cursor = /cursor=([^&>]*)/.exec(String(headers.link))![1]!;
    const forged = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(cursor, 'base64url').toString()), v: 1 }),
    );
    for (const [query, message] of [
      ['q=', 'q is not a part of a record key, in letters, digits, hyphens and dots'],
      ['q=a_b', 'q is not a part of a record key, in letters, digits, hyphens and dots'],
      [
        `q=${'a'.repeat(LIMITS.queryName + 1)}`,
        'q is not a part of a record key, in letters, digits, hyphens and dots',
      ],
      ['sort=name', 'sort is not one of key, -key, updated_at, -updated_at'],
      [`sort=-key&cursor=${cursor}`, 'cursor is not a cursor of this listing'],
      [`cursor=${cursor}`, 'cursor is not a cursor of this listing'],
      [`sort=key&q=a&cursor=${cursor}`, 'cursor is not a cursor of this listing'],
      [`sort=key&cursor=${forged.toString('base64url')}`, 'cursor is not a cursor of this listing'],
    ] as const) {
      assertFailure(await customer.get(`/records?${query}`), 400, 'validation_error', message);
    }
    const longest = await customer.get(`/records?q=${'a'.repeat(LIMITS.queryName)}`);
    assert.deepEqual([longest.status, longest.json], [200, []]);
    assertFailure(await customer.get('/records/facets?namespace=a_b'), 400, 'validation_error');
    assertFailure(await customer.get('/records/facets?colour=red'), 400, 'validation_error');
    await world.close();
  },

  'counts are exact up to their limit, and estimated above it': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [small, large] = [await customer.namespace(), await customer.namespace()] as {
      id: string;
      name: string;
    }[];
    for (let at = 0; at <= LIMITS.facetValues; at++) await customer.record(`a.r${at}.${small!.name}.v1`);
    const read = async (query = '') => (await customer.get(`/records/facets${query}`)).json;
    const few = await read(`?namespace=${small!.name.toUpperCase()}`);
    assert.deepEqual([few.records, few.resources.length, few.more_resources], [51, LIMITS.facetValues, 1]);
    assert.deepEqual(few.namespaces, [{ name: small!.name, records: 51 }]);
    await fill(store, large!, 'dark-mode', 7_000);
    await fill(store, large!, 'temp', LIMITS.facetRows - 51 - 7_000);
    const whole = await read();
    assert.deepEqual([whole.records, whole.estimated], [LIMITS.facetRows, false]);
    assert.deepEqual(whole.resources.slice(0, 2), [
      { name: 'dark-mode', records: 7_000 },
      { name: 'temp', records: 2_949 },
    ]);
    await customer.record(`one-more.temp.${large!.name}.v1`);
    const more = await read();
    assert.deepEqual([more.records, more.estimated], [LIMITS.facetRows + 1, true]);
    const [first, second] = more.resources;
    assert.deepEqual([first.name, second.name], ['dark-mode', 'temp']);
    assert.ok(Math.abs(first.records - 7_000) < 1_500, `${first.records} in place of 7,000`);
    assert.deepEqual(more.namespaces[0], { name: large!.name, records: 9_950 });
    assert.deepEqual(await read('?namespace=nobody'), {
      records: 0,
      estimated: false,
      resources: [],
      more_resources: 0,
      namespaces: [],
      more_namespaces: 0,
    });
    await world.close();
  },
});
