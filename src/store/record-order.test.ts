import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fillNamespace } from '../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { type Home, putRecord, settle, withStore } from '../../test/support/store/fixtures.ts';
import { query } from '../../test/support/store/rows.ts';
import { plansOf } from '../../test/support/store/statement-plans.ts';
import { countByResource, sampleByResource } from './record-facets.ts';
import { type RecordFilter, SPAN } from './record-listing.ts';
import {
  type OrderedRecord,
  type OrderPosition,
  RECORD_SORTS,
  type RecordSort,
  readOrdered,
  readOrderedTogether,
} from './record-order.ts';
import type { Store } from './store.ts';

/** Reads spans to the end of a namespace. @returns its keys, and how many spans there were */
async function walk(store: Store, home: Home, sort: RecordSort, filter: RecordFilter, limit: number) {
  const rows: OrderedRecord[] = [];
  let after: OrderPosition | null = null;
  let spans = 0;
  do {
    const span = await readOrdered(store.read, home.namespaceId, sort, filter, after, limit, 10);
    rows.push(...span.rows);
    after = span.next;
    spans++;
  } while (after !== null);
  return { keys: rows.map(({ key }) => key.slice(0, -'.doc.acme.v1'.length)), spans };
}

onEachEngine((create) => {
  const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
    it(title, () => withStore(create, run));
  };

  describe('orders of records', () => {
    scenario('every order is whole, whatever the pages are, also where times are equal', async (store) => {
      const home = await settle(store);
      // In the order of bytes a hyphen is before a dot, a dot before digits; languages order them otherwise.
      const names = ['a', 'a-', 'a-b', 'a.b', 'a1', 'ab', 'b', '0'];
      await store.write(async (tx) => {
        for (const [at, name] of names.entries())
          await putRecord(tx, home, name, { updated_at: 100 + Math.floor(at / 4) });
        await putRecord(tx, home, 'gone', { updated_at: 100, expires_at: 10 });
      });
      const byKey = ['0', 'a', 'a-', 'a-b', 'a.b', 'a1', 'ab', 'b'].toSorted((a, b) =>
        `${a}.doc` < `${b}.doc` ? -1 : 1,
      );
      for (const limit of [1, 2, 3, 100]) {
        assert.deepEqual((await walk(store, home, 'key', {}, limit)).keys, byKey);
        assert.deepEqual((await walk(store, home, '-key', {}, limit)).keys, byKey.toReversed());
        const up = (await walk(store, home, 'updated_at', {}, limit)).keys;
        assert.deepEqual(
          [new Set(up.slice(0, 4)), new Set(up)],
          [new Set(names.slice(0, 4)), new Set(names)],
        );
        assert.deepEqual((await walk(store, home, '-updated_at', {}, limit)).keys, up.toReversed());
      }
    });

    scenario('a prefix and a resource are found in every order', async (store) => {
      const home = await settle(store);
      await store.write(async (tx) => {
        for (const name of ['a', 'ab', 'b']) await putRecord(tx, home, name);
        await putRecord(tx, home, 'ac', { key: 'ac.other.acme.v1', resource: 'other' });
      });
      for (const sort of RECORD_SORTS) {
        const of = async (filter: RecordFilter) => (await walk(store, home, sort, filter, 1)).keys.toSorted();
        assert.deepEqual((await of({ keyPrefix: 'a' })).length, 3);
        assert.deepEqual(await of({ keyPrefix: 'ab.doc.acme.v1' }), ['ab']);
        assert.deepEqual(await of({ resource: 'doc' }), ['a', 'ab', 'b']);
        assert.deepEqual(await of({ resource: 'doc', keyPrefix: 'a' }), ['a', 'ab']);
        assert.deepEqual(await of({ createdAfter: 1_000 }), []);
      }
    });

    scenario('a filter without a match is read in spans of 1000 records', async (store) => {
      const home = await settle(store);
      await fillNamespace(store, home, 2 * SPAN + 1);
      for (const sort of RECORD_SORTS) {
        assert.deepEqual(await walk(store, home, sort, { ttlMin: 10_000 }, 10), { keys: [], spans: 3 }, sort);
        const spans = sort.endsWith('key') ? 1 : 3;
        assert.deepEqual(await walk(store, home, sort, { keyPrefix: 'none' }, 10), { keys: [], spans });
        const some = await walk(store, home, sort, { resource: 'doc', ttlMax: 1_000 }, 300);
        assert.equal(new Set(some.keys).size, 2 * SPAN + 1);
        assert.equal(some.keys.length, 2 * SPAN + 1);
      }
    });

    scenario('small namespaces are read together', async (store) => {
      const [one, two] = [await settle(store, 'one'), await settle(store, 'two')];
      await store.write(async (tx) => {
        await putRecord(tx, one, 'b', { updated_at: 1 });
        await putRecord(tx, two, 'a', { updated_at: 2 });
        await putRecord(tx, two, 'c', { updated_at: 3, expires_at: 1 });
      });
      const ids = [one.namespaceId, two.namespaceId];
      const keys = async (sort: RecordSort, after: OrderPosition | null) =>
        (await readOrderedTogether(store.read, ids, sort, {}, after, 9, 2)).map(({ key }) => key[0]);
      assert.deepEqual(await keys('key', null), ['a', 'b']);
      assert.deepEqual(await keys('-updated_at', null), ['a', 'b']);
      assert.deepEqual(await keys('key', { value: 'a.doc.two.v1', id: '' }), ['b']);
    });

    scenario('each order, and each count, is read from its index', async (store) => {
      const home = await settle(store);
      await fillNamespace(store, home, SPAN + 100);
      await store.write((tx) => query(tx, 'analyze'));
      const ORDERS: readonly (readonly [RecordSort, RecordFilter, string])[] = [
        ['key', {}, 'records_by_key'],
        ['-key', { keyPrefix: 'k1' }, 'records_by_key'],
        ['key', { resource: 'doc' }, 'records_by_resource'],
        ['updated_at', {}, 'records_by_change'],
        ['-updated_at', {}, 'records_by_change'],
      ];
      for (const [sort, filter, index] of ORDERS) {
        const after = { value: sort.endsWith('key') ? 'k10' : 1, id: 'x' };
        const [plan, ...more] = await plansOf(store, (db) =>
          readOrdered(db, home.namespaceId, sort, filter, after, 10, 1),
        );
        assert.deepEqual(more, []);
        assert.match(plan!, new RegExp(`(INDEX|Scan using|Scan Backward using) ${index}`), sort);
        assert.doesNotMatch(plan!, /Sort|TEMP B-TREE/);
      }
      const [count] = await plansOf(store, (db) => countByResource(db, [home.namespaceId], 10));
      assert.match(count!, /(COVERING INDEX|Index Only Scan using) records_by_resource/);
      const runs = await plansOf(store, (db) => sampleByResource(db, home.namespaceId, 10));
      for (const run of runs) assert.match(run, /records_listing/);
    });
  });
});
