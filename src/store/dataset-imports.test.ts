import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { changesAfter } from '../../test/support/feed/changes-after.ts';
import {
  type DatasetWorld,
  itemLines,
  itemName,
  newKey,
  replay,
  servedOf,
  withDatasets,
} from '../../test/support/store/dataset-world.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { type TestDatabase, withStore } from '../../test/support/store/fixtures.ts';
import { findRows, query } from '../../test/support/store/rows.ts';
import { LIMITS } from '../base/limits.ts';
import { DatasetFault } from '../control/datasets/items.ts';
import { exportItems, findServed, listDatasets, retireDataset } from '../control/datasets/versions.ts';
import { findVersion, insertVersion, takeLease } from './datasets.ts';
import type { Store } from './store.ts';
import { deleteRetired } from './upkeep.ts';

type Scenario = (store: Store, world: DatasetWorld, open: TestDatabase['open']) => Promise<void>;

/** Imports of datasets, from files to what a view replays. */
onEachEngine((create) => {
  const scenario = (title: string, run: Scenario): void => {
    it(title, () => withStore(create, (store, open) => withDatasets((world) => run(store, world, open))));
  };
  const fault = (text: string | RegExp) => (error: unknown) => {
    assert.ok(error instanceof DatasetFault, String(error));
    if (typeof text === 'string') assert.ok(error.message.includes(text), error.message);
    else assert.match(error.message, text);
    return true;
  };

  describe('imports of datasets', () => {
    scenario(
      'of one version: of two that saw the same ended lease, one takes it over (D02)',
      async (store, world) => {
        const id = randomUUID();
        const row = {
          id,
          slug: 'demo',
          version: '1.0.0',
          state: 'importing',
          manifest: JSON.stringify(world.sign('1.0.0', itemLines(1, 1)).signed),
          items: 0,
          windows: 0,
          octets: 0,
          layout: 1,
          parts: 0,
          has_parts: 0,
          lease: 'dead',
          lease_until: 5,
          created_at: 1,
          published_at: null,
          retired_at: null,
        } as const;
        await store.write((tx) => insertVersion(tx, row));
        const taken = [];
        for (const name of ['one', 'two']) {
          taken.push(
            await store.write((tx) =>
              takeLease(tx, { versionId: id, name }, 100, { lease: 'dead', lease_until: 5 }),
            ),
          );
        }
        assert.deepEqual(taken, [true, false]);
        // The name alone is not enough: a holder that went on has a later end.
        const renewed = { lease: 'one', lease_until: 99 };
        assert.equal(
          await store.write((tx) => takeLease(tx, { versionId: id, name: 'two' }, 200, renewed)),
          false,
        );
      },
    );

    scenario('are served with every item, by log and snapshot alike', async (store, world) => {
      const files = world.sign('1.0.0', itemLines(250, 3));
      assert.equal((await world.import(store, files)).items, 250);
      for (const from of ['log', 'snapshot'] as const) {
        const view = await replay(store, from);
        const [version] = view.versions.values();
        assert.deepEqual(version?.manifest, files.signed);
        assert.equal(view.versions.size, 1);
        assert.deepEqual(
          version.items.map(({ item }) => item),
          Array.from({ length: 250 }, (_, i) => itemName(i)),
        );
        assert.deepEqual(version.items[249]?.windows[2], {
          from: 20,
          to: 30,
          issuer: '',
          brand: 'B2',
          cc: 'DE',
          type: '',
        });
        assert.deepEqual([...view.keys], [[world.key.kid, { since: 1_700_000_000, end: null }]]);
      }
      const [listed] = await listDatasets({ store });
      const { items, windows, isLatest, state } = listed!;
      assert.deepEqual(
        { items, windows, isLatest, state },
        { items: 250, windows: 750, isLatest: true, state: 'served' },
      );
    });

    scenario('give the items file back octet for octet, lines in any order', async (store, world) => {
      const lines = itemLines(1200, 2).trimEnd().split('\n').reverse();
      const content = `${lines.join('\r\n')}`;
      await world.import(store, world.sign('1.0.0', content));
      const parts: Buffer[] = [];
      for await (const part of exportItems({ store }, await findServed({ store }, 'demo', null)))
        parts.push(part);
      assert.ok(Buffer.concat(parts).equals(Buffer.from(content)));
      const [version] = (await replay(store, 'snapshot')).versions.values();
      assert.deepEqual(
        version?.items.map(({ item, windows }) => [item, windows.map(({ brand }) => brand)]),
        Array.from({ length: 1200 }, (_, i) => [itemName(i), ['B0', 'B1']]),
      );
    });

    scenario('are read from the log in pages of a bounded number of items', async (store, world) => {
      await world.import(store, world.sign('1.0.0', itemLines(7000)));
      const page = await changesAfter(store.changes, 0, 1000);
      assert.equal(page.filter(({ type }) => type === 'dataset.items').length, 64);
      assert.equal(page.at(-1)?.type, 'dataset.items');
      assert.deepEqual(servedOf(await replay(store, 'log')), { '1.0.0': 7000 });
    });

    scenario('with a fault name file, line and reason, and store nothing', async (store, world) => {
      const files = world.sign('1.0.0', itemLines(3));
      appendFileSync(files.items, '{"k": "b"}\n');
      await assert.rejects(world.import(store, files), fault('is not the items file of the manifest'));
      const { manifest, items } = world.sign('1.0.1', itemLines(3));
      writeFileSync(manifest, '{"slug": "demo"}');
      await assert.rejects(world.import(store, { manifest, items, signed: files.signed }), fault(/\.json: /));
      writeFileSync(manifest, JSON.stringify({ ...files.signed, slug: 'auth-list' }));
      await assert.rejects(
        world.import(store, { manifest, items, signed: files.signed }),
        fault('slug must not begin with auth-'),
      );
      assert.deepEqual((await replay(store, 'log')).versions.size, 0);
      assert.equal((await store.changes.bounds()).head, 0);
      assert.deepEqual(
        readdirSync(dirname(items)).filter((name) => /sort|import/.test(name)),
        [],
      );
    });

    scenario('of a known version are done, and refused with another content', async (store, world) => {
      const files = world.sign('1.0.0', itemLines(3));
      await world.import(store, files);
      const { head } = await store.changes.bounds();
      assert.equal((await world.import(store, files)).items, null);
      const other = world.sign('1.0.0', itemLines(4));
      await assert.rejects(world.import(store, other), fault('was published with another manifest'));
      const licensed = world.sign('1.0.0', itemLines(3), { license: 'MIT' });
      await assert.rejects(world.import(store, licensed), fault('was published with another manifest'));
      writeFileSync(files.items, itemLines(4));
      await assert.rejects(world.import(store, files), fault('is not the items file'));
      assert.equal((await store.changes.bounds()).head, head);
    });

    scenario('of a retired version serve it again, never with another content', async (store, world) => {
      const files = world.sign('1.0.0', itemLines(3));
      await world.import(store, files);
      await retireDataset({ store, clock: Date.now }, 'demo', '1.0.0');
      const other = world.sign('1.0.0', itemLines(4));
      await assert.rejects(world.import(store, other), fault('was published with another manifest'));
      assert.equal((await world.import(store, files)).items, 3);
      for (const from of ['log', 'snapshot'] as const) {
        assert.deepEqual(servedOf(await replay(store, from)), { '1.0.0': 3 });
      }
    });

    scenario(
      'need a key that is known: an own one, a given one, or one of an earlier import',
      async (store, world) => {
        const foreign = newKey(1_600_000_000_000);
        const files = world.sign('1.0.0', itemLines(3), { key: foreign });
        const { kid } = foreign;
        await assert.rejects(
          world.import(store, files),
          fault(`attested by key ${kid}, which is not known here`),
        );
        await assert.rejects(
          world.import(store, files, { key: world.key.publicKey }),
          fault(`the given key is ${world.key.kid}`),
        );
        await world.import(store, files, { key: foreign.publicKey });
        await world.import(store, world.sign('1.1.0', itemLines(3), { key: foreign }));
        const forged = world.sign('1.2.0', itemLines(3));
        writeFileSync(forged.manifest, JSON.stringify({ ...forged.signed, license: 'MIT' }));
        await assert.rejects(world.import(store, forged), fault('the signature is not that of key'));
        const { keys } = await replay(store, 'snapshot');
        assert.deepEqual(keys.get(kid), { since: 1_800_000_000, end: null });
      },
    );

    scenario('publish when an own key ended: the former one stays', async (store, world) => {
      const next = newKey(1_750_000_000_000);
      await world.import(store, world.sign('1.0.0', itemLines(3)));
      const files = world.sign('1.1.0', itemLines(3), { key: next });
      await world.import(store, files, { own: [world.key, next] });
      for (const from of ['log', 'snapshot'] as const) {
        assert.deepEqual(
          (await replay(store, from)).keys,
          new Map([
            [world.key.kid, { since: 1_700_000_000, end: 1_750_000_000 }],
            [next.kid, { since: 1_750_000_000, end: null }],
          ]),
        );
      }
    });

    scenario('serve at most 100 versions of a dataset', async (store, world) => {
      await world.import(store, world.sign('1.0.0', itemLines(1)));
      const { id: _, ...row } = (await findVersion(store.read, 'demo', '1.0.0'))!;
      await store.write(async (tx) => {
        for (let i = 1; i < LIMITS.datasetVersions - 1; i++) {
          await insertVersion(tx, { ...row, id: randomUUID(), version: `1.${i}.0` });
        }
      });
      await world.import(store, world.sign('1.99.0', itemLines(1)));
      const more = world.sign('2.0.0', itemLines(1));
      await assert.rejects(world.import(store, more), fault('100 can be served: retire one'));
      await retireDataset({ store, clock: Date.now }, 'demo', '1.5.0');
      await world.import(store, more);
    });
  });

  describe('retired datasets', () => {
    scenario('are withdrawn, one version or all, and their parts are deleted', async (store, world) => {
      for (const version of ['1.0.0', '1.10.0', '1.9.0']) {
        await world.import(store, world.sign(version, itemLines(150)));
      }
      assert.equal((await findServed({ store }, 'demo', null)).manifest.version, '1.10.0');
      assert.deepEqual(await retireDataset({ store, clock: Date.now }, 'demo', '1.10.0'), ['1.10.0']);
      assert.equal((await findServed({ store }, 'demo', null)).manifest.version, '1.9.0');
      await deleteRetired(store, new AbortController().signal);
      const parts = await query(store.read, 'select distinct version_id from dataset_parts');
      assert.equal(parts.length, 2);
      for (const from of ['log', 'snapshot'] as const) {
        assert.deepEqual(servedOf(await replay(store, from)), { '1.0.0': 150, '1.9.0': 150 });
      }
      await retireDataset({ store, clock: Date.now }, 'demo', null);
      await deleteRetired(store, new AbortController().signal);
      assert.deepEqual(await findRows(store.read, 'dataset_parts'), []);
      for (const from of ['log', 'snapshot'] as const) {
        assert.equal((await replay(store, from)).versions.size, 0);
      }
      await assert.rejects(findServed({ store }, 'demo', null), fault('demo is not served'));
      await assert.rejects(retireDataset({ store, clock: Date.now }, 'demo', null), fault('is not served'));
    });
  });
});
