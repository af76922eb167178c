import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesAfter } from '../../test/support/feed/changes-after.ts';
import {
  type DatasetWorld,
  itemLines,
  replay,
  servedOf,
  withDatasets,
} from '../../test/support/store/dataset-world.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import { findRows, query } from '../../test/support/store/rows.ts';
import { exportItems, findServed, listDatasets, retireDataset } from '../control/datasets/versions.ts';
import { retireAbandoned } from './dataset-changes.ts';
import type { Store } from './store.ts';

/** Items of an import in several units: 4 parts of items and one of lines, one part a unit. */
const ITEMS = 350;
const LINES = itemLines(ITEMS);
const SMALL_UNITS = { unitParts: 1 };
/** The claim, the parts, and the unit that serves the version. */
const UNITS = 7;

/** A store whose units wait for the test. */
interface Gated {
  readonly store: Store;
  /** Lets so many more units run. */
  allow(units: number): void;
  /** Resolves when a unit waits. */
  waits(): Promise<void>;
}

function gated(store: Store, allowed: number): Gated {
  let left = allowed;
  let open = Promise.withResolvers<void>();
  let stopped = Promise.withResolvers<void>();
  return {
    store: {
      ...store,
      async write(work) {
        while (left === 0) {
          stopped.resolve();
          await open.promise;
        }
        left--;
        return store.write(work);
      },
    },
    allow(units) {
      left += units;
      stopped = Promise.withResolvers();
      open.resolve();
      open = Promise.withResolvers();
    },
    waits: () => stopped.promise,
  };
}

/** A store of a process that is killed after so many units. */
function killedAfter(store: Store, units: number): Store {
  let left = units;
  return {
    ...store,
    async write(work) {
      if (left-- <= 0) throw new Error('killed');
      return store.write(work);
    },
  };
}

/** What happens beside imports, and in the middle of them. */
onEachEngine((create) => {
  const scenario = (title: string, run: (store: Store, world: DatasetWorld) => Promise<void>): void => {
    it(title, () => withStore(create, (store) => withDatasets((world) => run(store, world))));
  };
  const assertServed = async (store: Store, expected: Record<string, number>) => {
    for (const from of ['log', 'snapshot'] as const) {
      assert.deepEqual(servedOf(await replay(store, from)), expected, from);
    }
  };
  const latestOf = async (store: Store) => (await findServed({ store }, 'demo', null)).manifest.version;
  const clock = Date.now;

  describe('imports under way', () => {
    scenario(
      'killed at each unit leave the former version served, and the next import goes on',
      async (store, world) => {
        await world.import(store, world.sign('1.0.0', itemLines(3)));
        const expected: Record<string, number> = { '1.0.0': 3 };
        for (let units = 0; units < UNITS; units++) {
          const version = `2.${units}.0`;
          const files = world.sign(version, LINES);
          const options = { ...SMALL_UNITS, leaseMs: 30 };
          await assert.rejects(world.import(killedAfter(store, units), files, options), {
            message: 'killed',
          });
          await assertServed(store, expected);
          const progress: number[] = [];
          const onProgress = (parts: number): void => {
            progress.push(parts);
          };
          assert.equal((await world.import(store, files, { ...options, onProgress })).items, ITEMS);
          assert.equal(progress[0], units === UNITS - 1 ? undefined : Math.max(1, units), 'it goes on');
          expected[version] = ITEMS;
          await assertServed(store, expected);
          const octets: Buffer[] = [];
          for await (const part of exportItems({ store }, await findServed({ store }, 'demo', version)))
            octets.push(part);
          assert.equal(Buffer.concat(octets).toString(), LINES);
        }
        assert.equal(await latestOf(store), `2.${UNITS - 1}.0`);
      },
    );

    scenario('killed, and started again with other files of the same version', async (store, world) => {
      const options = { ...SMALL_UNITS, leaseMs: 30 };
      const killed = world.import(killedAfter(store, 4), world.sign('1.0.0', LINES), options);
      await assert.rejects(killed, { message: 'killed' });
      await world.import(store, world.sign('1.0.0', itemLines(7)), options);
      await assertServed(store, { '1.0.0': 7 });
    });

    scenario(
      'of a retired version, killed, are not gone on with by other files: what was published never changes (seed 4908)',
      async (store, world) => {
        const options = { ...SMALL_UNITS, leaseMs: 30 };
        const files = world.sign('1.0.0', LINES);
        await world.import(store, files, options);
        await retireDataset({ store, clock }, 'demo', '1.0.0');
        await assert.rejects(world.import(killedAfter(store, 4), files, options), { message: 'killed' });
        const other = world.sign('1.0.0', itemLines(7));
        await assert.rejects(world.import(store, other, options), /was published with another manifest/);
        await assertServed(store, {});
        assert.equal((await world.import(store, world.sign('1.0.0', LINES), options)).items, ITEMS);
        await assertServed(store, { '1.0.0': ITEMS });
      },
    );

    scenario(
      'given up before they published leave their number free for other files',
      async (store, world) => {
        const options = { ...SMALL_UNITS, leaseMs: 30 };
        const killed = world.import(killedAfter(store, 4), world.sign('1.0.0', LINES), options);
        await assert.rejects(killed, { message: 'killed' });
        await retireDataset({ store, clock }, 'demo', '1.0.0');
        await world.import(store, world.sign('1.0.0', itemLines(7)), options);
        await assertServed(store, { '1.0.0': 7 });
      },
    );

    scenario('at once, of one version: one is refused', async (store, world) => {
      const files = world.sign('1.0.0', LINES);
      const first = gated(store, 2);
      const importing = world.import(first.store, files, SMALL_UNITS);
      await first.waits();
      const second = gated(store, 1);
      const refused = assert.rejects(
        world.import(second.store, files, SMALL_UNITS),
        /demo 1\.0\.0 is being imported by another process/,
      );
      // It has seen the lease once. The next unit of the first import renews it.
      await second.waits();
      first.allow(1);
      await first.waits();
      second.allow(UNITS);
      await refused;
      first.allow(UNITS);
      assert.equal((await importing).items, ITEMS);
      await assertServed(store, { '1.0.0': ITEMS });
    });

    scenario('lose their version to an import that took over the lease', async (store, world) => {
      const files = world.sign('1.0.0', LINES);
      const first = gated(store, 3);
      const options = { ...SMALL_UNITS, leaseMs: 30 };
      const slow = assert.rejects(
        world.import(first.store, files, options),
        /another import went on with it/,
      );
      await first.waits();
      assert.equal((await world.import(store, files, options)).items, ITEMS);
      first.allow(UNITS);
      await slow;
      await assertServed(store, { '1.0.0': ITEMS });
    });

    for (const units of [4, UNITS - 1]) {
      scenario(
        `serve nothing from a database that lost parts of them in a failover, after unit ${units} (seed 317947962)`,
        async (store, world) => {
          const files = world.sign('1.0.0', LINES);
          const first = gated(store, units);
          const importing = world.import(first.store, files, SMALL_UNITS);
          const refused = assert.rejects(importing, /the database lost parts of it in a failover/);
          await first.waits();
          await store.write(async (tx) => {
            await query(tx, 'delete from dataset_parts where part = (select max(part) from dataset_parts)');
            await query(tx, 'update dataset_versions set parts = parts - 1');
          });
          first.allow(UNITS);
          await refused;
          await assertServed(store, {});
          assert.equal((await world.import(store, files, SMALL_UNITS)).items, ITEMS);
          // The log is not set back here: it has a part twice.
          assert.deepEqual(servedOf(await replay(store, 'snapshot')), { '1.0.0': ITEMS });
        },
      );
    }

    scenario('end when their version is retired', async (store, world) => {
      const first = gated(store, 3);
      const files = world.sign('1.0.0', LINES);
      const given = assert.rejects(world.import(first.store, files, SMALL_UNITS), /the version was retired/);
      await first.waits();
      assert.equal((await listDatasets({ store }))[0]?.state, 'importing');
      assert.deepEqual(await retireDataset({ store, clock }, 'demo', '1.0.0'), ['1.0.0']);
      first.allow(UNITS);
      await given;
      await assertServed(store, {});
      await world.import(store, files);
      await assertServed(store, { '1.0.0': ITEMS });
    });

    scenario('go on beside the retirement of the latest version', async (store, world) => {
      await world.import(store, world.sign('1.0.0', itemLines(3)));
      await world.import(store, world.sign('1.1.0', itemLines(4)));
      const first = gated(store, 3);
      const importing = world.import(first.store, world.sign('2.0.0', LINES), SMALL_UNITS);
      await first.waits();
      assert.deepEqual(await retireDataset({ store, clock }, 'demo', '1.1.0'), ['1.1.0']);
      assert.equal(await latestOf(store), '1.0.0');
      await assertServed(store, { '1.0.0': 3 });
      first.allow(UNITS);
      await importing;
      assert.equal(await latestOf(store), '2.0.0');
      await assertServed(store, { '1.0.0': 3, '2.0.0': ITEMS });
    });

    scenario('are whole in a view that begins in the middle: snapshot, then log', async (store, world) => {
      const first = gated(store, 3);
      const importing = world.import(first.store, world.sign('1.0.0', LINES), SMALL_UNITS);
      await first.waits();
      const { seq, pages } = await store.changes.openSnapshot();
      const seen: string[] = [];
      for await (const page of pages) {
        for (const change of page) {
          if (change.type === 'dataset.items') seen.push(...change.items.map(({ item }) => item));
        }
      }
      assert.ok(seen.length > 0 && seen.length < ITEMS);
      first.allow(UNITS);
      await importing;
      let isPublished = false;
      for (const change of await changesAfter(store.changes, seq, 1000)) {
        if (change.type === 'dataset.items') seen.push(...change.items.map(({ item }) => item));
        if (change.type === 'dataset.published') isPublished = true;
      }
      assert.ok(isPublished);
      assert.equal(new Set(seen).size, ITEMS);
      assert.equal(seen.length, ITEMS);
    });

    scenario('that nobody goes on with are given up', async (store, world) => {
      const killed = world.import(killedAfter(store, 3), world.sign('1.0.0', LINES), SMALL_UNITS);
      await assert.rejects(killed, { message: 'killed' });
      const ends = (await findRows(store.read, 'dataset_versions', { columns: ['lease_until'] }))[0]!;
      await store.write((tx) => retireAbandoned(tx, ends.lease_until, clock()));
      assert.equal((await listDatasets({ store })).length, 1);
      await store.write((tx) => retireAbandoned(tx, ends.lease_until + 1, clock()));
      assert.equal((await listDatasets({ store })).length, 0);
      assert.equal((await replay(store, 'log')).versions.size, 0);
    });
  });
});
