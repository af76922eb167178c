import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expired, namespaceUpserted } from '../../../test/support/view/view-changes.ts';
import { LIMITS } from '../../base/limits.ts';
import { createNew, FIRST, openExisting, type Tree } from '../lmdb/tree.ts';
import { openLmdbReader } from '../reader.ts';
import { openLmdbWriter } from '../writer.ts';
import { expiredTarget, forgetAllExpired } from './record-table.ts';

const PERIOD = LIMITS.expiredMinutes * 60_000;
const AT = 3_000_000 * PERIOD;

describe('records that expired', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'expired-records-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const known = (tree: Tree): number =>
    [
      ...tree.getKeys({
        start: Uint8Array.of(FIRST.expired),
        end: Uint8Array.of(FIRST.expired + 1),
        limit: 9999,
      }),
    ].length;

  async function withTree(work: (tree: Tree) => void): Promise<void> {
    const tree = createNew(join(directory, 'tree.mdb'));
    tree.transactionSync(() => {
      work(tree);
    });
    await tree.close();
  }

  it('are at most so many of one period, and as many again of the next', () =>
    withTree((tree) => {
      const { rememberExpired } = expiredTarget(tree, () => 'an id', 3);
      for (let i = 0; i < 3; i++) rememberExpired(`k${i}.res.ns.v1`, 'ns', AT);
      assert.equal(known(tree), 3);
      rememberExpired('k3.res.ns.v1', 'ns', AT + PERIOD - 1);
      assert.equal(known(tree), 3);
      for (let i = 0; i < 4; i++) rememberExpired(`later${i}.res.ns.v1`, 'ns', AT + PERIOD);
      assert.equal(known(tree), 6);
    }));

  it('go when the period after the next begins, some with each that expires', () =>
    withTree((tree) => {
      const { rememberExpired } = expiredTarget(tree, () => 'an id');
      for (let i = 0; i < 250; i++) rememberExpired(`k${i}.res.ns.v1`, 'ns', AT);
      rememberExpired('a.res.ns.v1', 'ns', AT + PERIOD);
      assert.equal(known(tree), 251);
      rememberExpired('b.res.ns.v1', 'ns', AT + 2 * PERIOD);
      assert.equal(known(tree), 52);
      rememberExpired('c.res.ns.v1', 'ns', AT + 2 * PERIOD);
      assert.equal(known(tree), 3);
    }));

  it('leave nothing but a digest', () =>
    withTree((tree) => {
      expiredTarget(tree, () => 'an id').rememberExpired('secret-key.res.ns.v1', 'ns', AT);
      const [key] = tree.getKeys({ start: Uint8Array.of(FIRST.expired), limit: 1 });
      assert.equal(key?.length, 17);
      assert.doesNotMatch(Buffer.from(key).toString('latin1'), /secret|res|an id/);
    }));

  it('of no namespace are not remembered', () =>
    withTree((tree) => {
      expiredTarget(tree, () => null).rememberExpired('a.res.ns.v1', 'ns', AT);
      assert.equal(known(tree), 0);
    }));

  it('are found by a reader that has looked before the first one expired', async () => {
    const path = join(directory, 'view');
    const writer = openLmdbWriter({ path });
    const freshness = { commits: () => commits, generation: () => 0 };
    let commits = 1;
    await writer.apply([namespaceUpserted('ns')], 1);
    const reader = openLmdbReader({ path, freshness });
    const has = (key: string, now = AT): boolean => {
      reader.refresh();
      return reader.hasExpired(key, reader.namespace('ns')!.id, now);
    };
    assert.equal(has('a.res.ns.v1'), false);
    await writer.apply([expired('a.res.ns.v1', AT)], 2);
    commits++;
    assert.deepEqual([has('a.res.ns.v1'), has('b.res.ns.v1')], [true, false]);
    assert.equal(has('a.res.ns.v1', AT + 2 * PERIOD), false);
    await reader.close();
    await writer.close();
  });

  it('are deleted by a view in which nothing happens any more, also after a restart', async () => {
    const path = join(directory, 'view');
    const first = openLmdbWriter({ path });
    const changes = Array.from({ length: 1200 }, (_, i) => expired(`k${i}.res.ns.v1`, AT));
    await first.apply([namespaceUpserted('ns'), ...changes], 1);
    await first.close();
    const again = openLmdbWriter({ path, expiredKeptMs: 1 });
    const probe = openExisting(join(path, '1.mdb'));
    assert.ok(typeof probe !== 'string');
    // The limit of the suite ends a wait in vain.
    for (;;) {
      probe.resetReadTxn();
      if (known(probe) === 0) break;
      await sleep(5);
    }
    await probe.close();
    await again.close();
    await withTree((tree) => assert.equal(forgetAllExpired(tree, 1), false));
  });
});
