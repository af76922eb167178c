import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRig, type Rig } from '../../../test/support/feed/follower/follower-rig.ts';
import {
  facts,
  itemsAdded,
  manifestOf,
  published,
  versionIdOf,
} from '../../../test/support/view/datasets/dataset-changes.ts';
import { deleted, namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';

describe('follower', () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
  });
  afterEach(() => rig.stop());

  it('fills an empty view from the snapshot, then follows', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'), deleted('a.ns.v1'));
    const follower = rig.start();
    assert.equal(follower.state(), 'rebuilding');
    await follower.ready;
    rig.assertSame();
    assert.equal(follower.state(), 'following');
    assert.deepEqual(rig.applied, []);
    rig.source.write(upserted('c.ns.v1'));
    await rig.until(rig.caughtUp);
    rig.assertSame();
    assert.deepEqual(rig.applied, [5]);
  });

  it('is ready over an empty source', async () => {
    await rig.start().ready;
    assert.equal(rig.view.cursor(), 0);
    rig.source.write(namespaceUpserted('ns'));
    await rig.until(rig.caughtUp);
    rig.assertSame();
  });

  it('resumes from the cursor without a snapshot', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower?.stop();
    const { openSnapshot } = rig.source.calls;
    rig.source.write(upserted('b.ns.v1'), upserted('c.ns.v1'));
    await rig.start().ready;
    rig.assertSame();
    assert.equal(rig.source.calls.openSnapshot, openSnapshot);
    assert.deepEqual(rig.applied, [3, 4]);
    assert.deepEqual(rig.states, ['following']);
  });

  it('reads on where the source gives fewer changes, because they have many items', async () => {
    await rig.start({ batch: 10 }).ready;
    // Nothing else reads on: the rig never polls.
    rig.source.bend = (changes) => changes.slice(0, 2);
    const items = Array.from({ length: 7 }, (_, i) =>
      itemsAdded(versionIdOf(i), { item: 'a', windows: [facts(null, 5)] }),
    );
    rig.source.write(...items);
    await rig.until(rig.caughtUp);
    rig.assertSame();
  });

  it('announces changes, and moves its cursor, only once the view has committed them (F03)', async () => {
    await rig.start().ready;
    const commit = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const apply = rig.view.apply.bind(rig.view);
    rig.view.apply = async (changes, cursor) => {
      asked.resolve();
      await commit.promise;
      await apply(changes, cursor);
    };
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await asked.promise;
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    const before = { applied: [...rig.applied], lag: rig.follower?.lag().seq };
    commit.resolve();
    assert.deepEqual(before, { applied: [], lag: 2 });
    await rig.until(rig.caughtUp);
    await rig.until(() => rig.applied.length === 2);
    assert.deepEqual(rig.applied, [1, 2]);
  });

  it('applies many changes in batches', async () => {
    await rig.start({ batch: 10 }).ready;
    const sizes: number[] = [];
    const apply = rig.view.apply.bind(rig.view);
    rig.view.apply = (changes, cursor) => {
      sizes.push(changes.length);
      return apply(changes, cursor);
    };
    rig.source.write(...Array.from({ length: 25 }, (_, i) => upserted(`r${i}.ns.v1`)));
    await rig.until(rig.caughtUp);
    rig.assertSame();
    assert.deepEqual(sizes, [10, 10, 5]);
  });

  it('applies items of datasets in transactions of at most 2,000 items', async () => {
    await rig.start().ready;
    const sizes: number[] = [];
    const apply = rig.view.apply.bind(rig.view);
    rig.view.apply = (changes, cursor) => {
      sizes.push(changes.length);
      return apply(changes, cursor);
    };
    const windows = [facts(null, null)];
    const items = (n: number) => Array.from({ length: 100 }, (_, i) => ({ item: `i${n}-${i}`, windows }));
    const changes = Array.from({ length: 45 }, (_, n) => itemsAdded(versionIdOf(1), ...items(n)));
    rig.source.write(...changes, published(versionIdOf(1), manifestOf('x', '1.0.0')), upserted('a.ns.v1'));
    await rig.until(rig.caughtUp);
    rig.assertSame();
    assert.deepEqual(sizes, [20, 20, 7]);
    assert.equal(rig.view.datasets.identity('x', 'i44-99').length, 1);
  });

  it('finds by polling a change without a wake-up', async () => {
    rig.source.announcing = false;
    await rig.start({ pollMs: 5 }).ready;
    rig.source.write(upserted('a.ns.v1'));
    await rig.until(rig.caughtUp);
    rig.assertSame();
  });

  it('handles many wake-ups as one, and reads nothing without one', async () => {
    await rig.start().ready;
    const { bounds, since } = rig.source.calls;
    for (let i = 0; i < 20; i++) for (const listener of rig.source.listeners) listener(1);
    await rig.until(() => rig.source.calls.since > since);
    await nextTurn();
    assert.equal(rig.source.calls.since, since + 1);
    assert.equal(rig.source.calls.bounds, bounds);
  });

  it('misses no commit that comes while it reads', async () => {
    await rig.start().ready;
    let extra = 3;
    rig.source.before = (call) => {
      if (call === 'since' && extra-- > 0)
        queueMicrotask(() => rig.source.write(upserted(`late${extra}.ns.v1`)));
    };
    rig.source.write(upserted('a.ns.v1'));
    await rig.until(() => extra <= 0 && rig.caughtUp());
    rig.assertSame();
  });

  const STALE: readonly (readonly [what: string, change: () => void])[] = [
    ['older than the log', () => rig.source.prune(5)],
    ['newer than the log', () => rig.source.restore(2)],
    ['lost', () => rig.view.lose()],
  ];
  for (const [what, change] of STALE) {
    it(`rebuilds the view when its cursor is ${what}`, async () => {
      rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'));
      await rig.start().ready;
      await rig.follower?.stop();
      rig.source.write(deleted('a.ns.v1'), upserted('c.ns.v1'), upserted('d.ns.v1'));
      change();
      rig.states = [];
      const { openSnapshot } = rig.source.calls;
      await rig.start().ready;
      rig.assertSame();
      assert.ok(rig.source.calls.openSnapshot > openSnapshot);
      assert.equal(rig.states.at(-1), 'following');
    });
  }

  it('resumes from the oldest change that the log still holds', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower?.stop();
    const { openSnapshot } = rig.source.calls;
    rig.source.write(upserted('b.ns.v1'));
    rig.source.prune(2);
    await rig.start().ready;
    rig.assertSame();
    assert.equal(rig.source.calls.openSnapshot, openSnapshot);
  });

  it('rebuilds the view when the source is restored while it runs', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'));
    await rig.start({ pollMs: 5 }).ready;
    rig.source.restore(1);
    await rig.until(rig.caughtUp);
    rig.assertSame();
  });

  it('rebuilds the view when the changes have a gap', async () => {
    await rig.start().ready;
    rig.source.bend = (changes) => {
      rig.source.bend = (same) => same;
      return changes.slice(1);
    };
    rig.source.write(upserted('a.ns.v1'), upserted('b.ns.v1'));
    await rig.until(rig.caughtUp);
    rig.assertSame();
    assert.deepEqual(rig.faults, []);
    assert.ok(rig.states.includes('rebuilding'));
  });

  it('skips changes that come twice', async () => {
    await rig.start().ready;
    rig.source.write(upserted('a.ns.v1', 'old'));
    await rig.until(rig.caughtUp);
    const all = await rig.source.since(rig.source.epoch, 0, 10);
    rig.source.bend = (changes) => [...all, ...changes.filter(({ seq }) => seq > all.length)];
    rig.source.write(upserted('a.ns.v1', 'new'));
    await rig.until(rig.caughtUp);
    rig.assertSame();
    assert.deepEqual(rig.applied, [1, 2]);
    assert.deepEqual(rig.faults, []);
  });

  it('does not loop when a source gives only old changes', async () => {
    await rig.start({ batch: 1 }).ready;
    rig.source.write(upserted('a.ns.v1'));
    await rig.until(rig.caughtUp);
    const all = await rig.source.since(rig.source.epoch, 0, 1);
    rig.source.bend = () => all;
    for (const listener of rig.source.listeners) listener(1);
    await nextTurn();
    await rig.follower?.stop();
    rig.assertSame();
  });

  it('reports its lag', async () => {
    // It polls: a source that nobody asks for longer than its silence counts as cut off.
    await rig.start({ pollMs: 1 }).ready;
    assert.deepEqual(rig.follower?.lag(), { seq: 0, seconds: 0 });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const apply = rig.view.apply.bind(rig.view);
    rig.view.apply = async (changes, cursor) => {
      await held;
      rig.view.apply = apply;
      return apply(changes, cursor);
    };
    // Made at 1,000 and 2,000 milliseconds, as the fake source has it.
    rig.source.write(upserted('a.ns.v1'), upserted('b.ns.v1'));
    await rig.until(() => rig.follower?.lag().seq === 2);
    assert.deepEqual(rig.follower?.lag(), { seq: 2, seconds: 49 });
    rig.now = 60_000;
    assert.equal(rig.follower?.lag().seconds, 59);
    release();
    await rig.until(() => rig.follower?.lag().seconds === 0);
    assert.deepEqual(rig.follower?.lag(), { seq: 0, seconds: 0 });
  });

  it('stops at once: while it sleeps, in a rebuild, and while it waits to retry', async () => {
    await rig.start().ready;
    await rig.follower?.stop();
    assert.equal(rig.source.listeners.size, 0);

    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'), upserted('c.ns.v1'));
    rig.source.before = (call) => {
      if (call === 'page') void rig.follower?.stop();
    };
    rig.view.lose();
    const { ready } = rig.start();
    await assert.rejects(ready, /stopped/);
    assert.equal(rig.view.cursor(), 0);

    rig.source.before = () => {
      throw new Error('source');
    };
    rig.start();
    await rig.until(() => rig.states.at(-1) === 'failing');
    await rig.follower?.stop();
  });

  it('ends with its signal', async () => {
    const ending = new AbortController();
    await rig.start({ signal: ending.signal }).ready;
    ending.abort();
    await rig.follower?.stop();
    assert.equal(rig.source.listeners.size, 0);
    await assert.rejects(rig.start({ signal: AbortSignal.abort() }).ready, /stopped/);
  });
});
