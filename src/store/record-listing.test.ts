import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fillNamespace } from '../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { type Home, putRecord, settle, withStore } from '../../test/support/store/fixtures.ts';
import { query } from '../../test/support/store/rows.ts';
import { plansOf } from '../../test/support/store/statement-plans.ts';
import { listTogether, type RecordFilter, type RecordPosition, readSpan, SPAN } from './record-listing.ts';
import type { Store } from './store.ts';

/** Filters that an index does not serve, and that match no record of these scenarios. */
const NO_MATCH: readonly RecordFilter[] = [
  { resource: 'none' },
  { keyPrefix: 'none' },
  { ttlMin: 10_000 },
  { ttlMax: 1 },
];

/** Reads spans to the end of a namespace. */
async function spansOf(store: Store, home: Home, filter: RecordFilter, limit: number, now: number) {
  const spans: { keys: string[]; next: number | null }[] = [];
  let after: RecordPosition | null = null;
  do {
    const { rows, next } = await readSpan(store.read, home.namespaceId, filter, after, limit, now);
    spans.push({ keys: rows.map(({ key }) => key), next: next?.createdAt ?? null });
    after = next;
  } while (after !== null);
  return spans;
}

/** Listings of records: each statement examines a bounded number of rows, whatever the filter is. */
onEachEngine((create) => {
  const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
    it(title, () => withStore(create, run));
  };

  describe('listing', () => {
    scenario('a filter without a match is read in spans of 1000 records', async (store) => {
      const home = await settle(store);
      await fillNamespace(store, home, 2 * SPAN + 1);
      const expected = [SPAN - 1, 2 * SPAN - 1, null].map((next) => ({ keys: [], next }));
      for (const filter of NO_MATCH) {
        assert.deepEqual(await spansOf(store, home, filter, 10, 1), expected, JSON.stringify(filter));
      }
    });

    scenario('expired records are left out, and cost no more than the others', async (store) => {
      const home = await settle(store);
      await store.write(async (tx) => {
        for (let at = 0; at < 7; at++) {
          await putRecord(tx, home, `k${at}`, { created_at: at, expires_at: at < 5 ? 10 : 11 });
        }
      });
      const key = (name: string): string => `${name}.doc.acme.v1`;
      assert.deepEqual(await spansOf(store, home, {}, 3, 10), [
        { keys: [], next: 2 },
        { keys: [key('k5')], next: 5 },
        { keys: [key('k6')], next: null },
      ]);
      assert.deepEqual(await spansOf(store, home, { resource: 'doc' }, 3, 10), [
        { keys: [key('k5'), key('k6')], next: null },
      ]);
    });

    scenario('times of creation bound what is read, on every page', async (store) => {
      const home = await settle(store);
      await fillNamespace(store, home, 20);
      const times = async (filter: RecordFilter): Promise<(number | null)[]> =>
        (await spansOf(store, home, filter, 2, 1)).flatMap(({ keys, next }) => [keys.length, next]);
      for (const filter of [{}, { resource: 'doc' }]) {
        assert.deepEqual(await times({ ...filter, createdAfter: 4, createdBefore: 9 }), [
          2,
          6,
          2,
          8,
          0,
          null,
        ]);
        assert.deepEqual(await times({ ...filter, createdAfter: 19 }), [0, null]);
        assert.deepEqual(await times({ ...filter, createdBefore: 0 }), [0, null]);
      }
    });

    scenario('is found by an index, however many records there are', async (store) => {
      const home = await settle(store);
      await fillNamespace(store, home, SPAN + 100);
      // Both engines have it. On PostgreSQL autovacuum keeps these statistics.
      await store.write((tx) => query(tx, 'analyze'));
      const after = { createdAt: 5, id: 'x' };
      const plans = (filter: RecordFilter): Promise<string[]> =>
        plansOf(store, (db) => readSpan(db, home.namespaceId, filter, after, 10, 1));
      for (const filter of [{}, { createdBefore: 900 }]) {
        const [all, ...more] = await plans(filter);
        assert.deepEqual(more, []);
        assert.match(all!, /(INDEX|Scan using) records_listing/);
        assert.doesNotMatch(all!, /Sort|TEMP B-TREE/);
      }
      const bounds = { sqlite: ['(created_at,id)>(?,?)', '(created_at,id)<(?,?)'], postgres: ['> ', '<= '] };
      for (const filter of NO_MATCH) {
        const [end, span] = await plans({ ...filter, createdAfter: 3 });
        assert.match(end!, /(COVERING INDEX|Index Only Scan using) records_listing/);
        assert.doesNotMatch(end!, /Sort|TEMP B-TREE/);
        // The rows of a span may be sorted: there are at most SPAN.
        assert.match(span!, /(INDEX|Scan using|Scan on) records_listing/);
        for (const bound of bounds[store.engine]) assert.ok(span!.includes(bound), `no ${bound} in: ${span}`);
      }
      const [byKey, ...more] = await plans({ key: 'k7.doc.acme.v1' });
      assert.deepEqual(more, []);
      assert.match(byKey!, /sqlite_autoindex_records_2|records_key_key|records_by_key/);
    });

    scenario('small namespaces are listed together, by time of creation', async (store) => {
      const [one, two] = [await settle(store, 'one'), await settle(store, 'two')];
      await store.write(async (tx) => {
        await putRecord(tx, one, 'b', { created_at: 2 });
        await putRecord(tx, one, 'c', { created_at: 3, expires_at: 1 });
        await putRecord(tx, two, 'a', { created_at: 1 });
      });
      const ids = [one.namespaceId, two.namespaceId];
      const rows = await listTogether(store.read, ids, {}, 10, 1);
      assert.deepEqual(
        rows.map(({ key }) => key),
        ['a.doc.two.v1', 'b.doc.one.v1'],
      );
    });
  });
});
