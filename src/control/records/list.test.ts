import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fillNamespace, testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { type Home, putRecord, settle, withStore } from '../../../test/support/store/fixtures.ts';
import { insertRows } from '../../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { watched } from '../../../test/support/store/statement-plans.ts';
import { LIMITS } from '../../base/limits.ts';
import { SPAN } from '../../store/record-listing.ts';
import type { Store } from '../../store/store.ts';
import { pageRecords, streamRecords } from './listing.ts';
import { parseListing } from './listing-query.ts';

import type { RecordResource } from './shapes.ts';

const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
  it(title, () => withStore(sqliteDatabase, run));
};

async function pagesOf(store: Store, home: Home): Promise<(readonly RecordResource[])[]> {
  const pages: (readonly RecordResource[])[] = [];
  for await (const page of streamRecords(testDeps(store), testActor(home), {})) pages.push(page);
  return pages;
}

/** Counts the statements that are begun. */
function counting(store: Store): { readonly store: Store; count(): number } {
  let count = 0;
  const read = watched(store.read, () => count++);
  return { store: { ...store, read }, count: () => count };
}

describe('streamed listing', () => {
  scenario('gives everything in order, in pages of bounded octets', async (store) => {
    const home = await settle(store);
    const data = Buffer.alloc(LIMITS.recordData, 1);
    await store.write(async (tx) => {
      for (let i = 0; i < 100; i++) await putRecord(tx, home, `k${i}`, { data, created_at: i });
    });
    const pages = await pagesOf(store, home);
    assert.deepEqual(
      pages.flat().map(({ key }) => key),
      Array.from({ length: 100 }, (_, i) => `k${i}.doc.acme.v1`),
    );
    assert.ok(pages.every((page) => JSON.stringify(page).length <= LIMITS.listingPage));
    assert.ok(pages.every((page) => page.length >= 15 || page === pages.at(-1)));
  });

  scenario(
    'a page is given in batches of bounded octets, and keeps nothing that was taken',
    async (store) => {
      const home = await settle(store);
      const data = Buffer.alloc(LIMITS.recordData, 1);
      await store.write(async (tx) => {
        for (let i = 0; i < 101; i++) await putRecord(tx, home, `k${i}`, { data, created_at: i });
      });
      const { batches, next } = await pageRecords(
        testDeps(store),
        testActor(home),
        {},
        { limit: 100, after: null },
      );
      const taken = [...batches];
      assert.ok(next !== null);
      assert.deepEqual(
        taken.flat().map(({ key }) => key),
        Array.from({ length: 100 }, (_, i) => `k${i}.doc.acme.v1`),
      );
      assert.ok(taken.every((batch) => JSON.stringify(batch).length <= LIMITS.listingPage));
      assert.deepEqual([...batches], []);
    },
  );

  scenario('a page of small records has many, and no record is lost between pages', async (store) => {
    const home = await settle(store);
    await fillNamespace(store, home, 1_500);
    const pages = await pagesOf(store, home);
    assert.equal(new Set(pages.flat().map(({ key }) => key)).size, 1_500);
    assert.ok(pages.length < 20, `${pages.length} pages`);
    assert.ok(pages.every((page) => JSON.stringify(page).length <= LIMITS.listingPage));
  });

  scenario('a reader that reads one page costs the statements of one page', async (store) => {
    const home = await settle(store);
    await fillNamespace(store, home, 1_500);
    const counted = counting(store);
    const pages = streamRecords(testDeps(counted.store), testActor(home), {});
    await pages.next();
    assert.equal(counted.count(), 2);
    await pages.return(undefined);
    assert.equal(counted.count(), 2);
  });

  scenario('many small namespaces do not cost a statement each', async (store) => {
    const home = await settle(store);
    await store.write(async (tx) => {
      for (let i = 0; i < 300; i++) {
        const namespace = { ...home, namespaceId: `id-${i}`, namespace: `ns-${String(i).padStart(3, '0')}` };
        const flags = { public_read: 0, suspended: 0, records_count: 0, created_at: 1, updated_at: 1 };
        const { namespaceId: id, namespace: name, customerId: customer_id } = namespace;
        await insertRows(tx, 'namespaces', { id, name, customer_id, ...flags });
        await putRecord(tx, namespace, 'a');
      }
    });
    const counted = counting(store);
    const pages = await pagesOf(counted.store, home);
    const names = pages.flat().map(({ key }) => key.split('.')[2]);
    assert.equal(names.length, 300);
    assert.deepEqual(
      names,
      names.toSorted((a, b) => (a! < b! ? -1 : 1)),
    );
    assert.ok(counted.count() < 15, `${counted.count()} statements`);
  });

  scenario('a filter finds what is behind many records that it leaves out, page by page', async (store) => {
    const home = await settle(store);
    await fillNamespace(store, home, 2 * SPAN + 1);
    await store.write(async (tx) => {
      await putRecord(tx, home, 'first', { created_at: SPAN - 1, ttl_seconds: 60 });
      await putRecord(tx, home, 'gone', { created_at: SPAN, ttl_seconds: 60, expires_at: 1 });
      await putRecord(tx, home, 'last', { created_at: 9_000, ttl_seconds: 60 });
    });
    const deps = testDeps(store);
    const filter = { ttlMax: 60 };
    const pages: string[][] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query = { ttl_max: '60', limit: '1', ...(cursor === '' ? {} : { cursor }) };
      const { page } = parseListing(query);
      const { batches, next } = await pageRecords(deps, testActor(home), filter, page!);
      pages.push([...batches].flat().map(({ key }) => key));
      cursor = next ?? undefined;
    }
    assert.deepEqual(pages, [['first.doc.acme.v1'], ['last.doc.acme.v1']]);
  });
});
