import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  facts,
  itemsAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
  withdrawn,
} from '../../test/support/view/datasets/dataset-changes.ts';
import { upserted } from '../../test/support/view/view-changes.ts';
import { deleteWithdrawn } from './datasets/dataset-table.ts';
import { FIRST, openExisting, type Tree } from './lmdb/tree.ts';
import { openLmdbWriter } from './writer.ts';

const ITEMS = 5000;
const [GONE, KEPT] = [versionIdOf(1), versionIdOf(2)];

describe('the items of a withdrawn version', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sweeper-test-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const path = (): string => join(directory, 'view');

  /** Two versions of one dataset, the greater one withdrawn, and nothing deleted yet. */
  async function make(): Promise<void> {
    const writer = openLmdbWriter({ path: path() });
    for (const id of [GONE, KEPT]) {
      for (let n = 0; n < ITEMS; n += 100) {
        const items = Array.from({ length: 100 }, (_, i) => ({
          item: `i${n + i}`,
          windows: [facts(null, null)],
        }));
        await writer.apply([itemsAdded(id, ...items)], n);
      }
    }
    await writer.apply(
      [
        published(GONE, manifestOf('x', '2.0.0')),
        published(KEPT, manifestOf('x', '1.0.0')),
        proved(GONE, 'gone\n'),
        proved(KEPT, 'kept\n'),
      ],
      1,
    );
    await writer.apply([withdrawn(GONE)], 2);
    await writer.close();
  }

  function inFile<T>(work: (tree: Tree) => T): T {
    const tree = openExisting(join(path(), '1.mdb'));
    assert.ok(typeof tree !== 'string');
    try {
      return work(tree);
    } finally {
      void tree.close();
    }
  }
  const keysOf = (tree: Tree, first: number): number =>
    [...tree.getKeys({ start: Uint8Array.of(first), end: Uint8Array.of(first + 1), limit: 1_000_000 })]
      .length;

  it('go in bounded transactions, and the items of other versions stay', async () => {
    await make();
    inFile((tree) => {
      assert.equal(keysOf(tree, FIRST.datasetItem), 2 * ITEMS);
      assert.equal(keysOf(tree, FIRST.datasetProof), 1, 'a proof goes with its version at once');
      let left = true;
      for (let transactions = 0; left; transactions++) {
        assert.ok(transactions <= ITEMS / 500 + 1);
        const before = keysOf(tree, FIRST.datasetItem);
        tree.transactionSync(() => {
          left = deleteWithdrawn(tree, 500);
        });
        assert.ok(before - keysOf(tree, FIRST.datasetItem) <= 500);
      }
      assert.equal(keysOf(tree, FIRST.datasetItem), ITEMS);
      assert.equal(keysOf(tree, FIRST.datasetWithdrawn), 0);
    });
  });

  it('go on after a restart in the middle, beside other changes', async () => {
    await make();
    inFile((tree) => tree.transactionSync(() => void deleteWithdrawn(tree, 700)));
    const writer = openLmdbWriter({ path: path() });
    const probe = openExisting(join(path(), '1.mdb'));
    assert.ok(typeof probe !== 'string');
    const left = (): number => {
      probe.resetReadTxn();
      return keysOf(probe, FIRST.datasetItem);
    };
    // Each pause lets the writer delete a part. The limit of the suite ends a wait in vain.
    for (let n = 0; left() > ITEMS; n++) {
      await writer.apply([upserted(`k${n}.res.ns.v1`)], 3 + n);
      await sleep(5);
    }
    await probe.close();
    await writer.close();
    inFile((tree) => assert.equal(keysOf(tree, FIRST.datasetItem), ITEMS));
  });
});
