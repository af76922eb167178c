import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRig, type Rig } from '../../../test/support/feed/follower/follower-rig.ts';
import { deleted, namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';

describe('follower and the health of the feed', () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
  });
  afterEach(() => rig.stop());

  it('counts the lag from the last successful pass while the source is away', async () => {
    await rig.start({ pollMs: 5 }).ready;
    rig.now = 60_000;
    const { bounds } = rig.source.calls;
    await rig.until(() => rig.source.calls.bounds > bounds + 1);
    assert.deepEqual([rig.follower?.lag().seconds, rig.follower?.isStale()], [0, false]);
    assert.equal(rig.follower?.currentAt(), 60_000);
    rig.source.before = () => {
      throw new Error('source');
    };
    await rig.until(() => rig.states.at(-1) === 'failing');
    rig.now = 61_000;
    assert.deepEqual(rig.follower?.lag(), { seq: 0, seconds: 1 });
    rig.now = 7_260_000;
    assert.deepEqual(rig.follower?.lag(), { seq: 0, seconds: 7200 });
    assert.equal(rig.follower?.isStale(), true);
    assert.equal(rig.follower?.hasView(), true);
    rig.source.before = () => undefined;
    await rig.until(() => rig.states.at(-1) === 'following');
    assert.deepEqual([rig.follower?.lag().seconds, rig.follower?.isStale()], [0, false]);
  });

  it('counts a source that never answers as cut off', async () => {
    await rig.start({ pollMs: 5 }).ready;
    let release = (): void => {};
    rig.source.before = () =>
      new Promise<void>((resolve) => {
        release = resolve;
      });
    const { bounds } = rig.source.calls;
    await rig.until(() => rig.source.calls.bounds > bounds);
    rig.now += 8_000;
    assert.equal(rig.follower?.isStale(), false);
    rig.now += 1;
    assert.equal(rig.follower?.isStale(), true);
    assert.equal(rig.follower?.lag().seconds, 8.001);
    rig.source.before = () => undefined;
    release();
    await rig.until(() => rig.follower?.isStale() === false);
  });

  it('is stale after a start without a source, and serves the view that it has', async () => {
    rig.source.write(namespaceUpserted('ns'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.before = () => {
      throw new Error('source');
    };
    const follower = rig.start();
    assert.equal(follower.isStale(), true);
    await follower.attempted;
    assert.deepEqual([follower.hasView(), follower.isStale(), rig.view.cursor()], [true, true, 1]);
  });

  it('is stale until the origin is heard, also after it has applied changes of a copy (seed 1481771710)', async () => {
    rig.source.write(namespaceUpserted('ns'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.write(upserted('a.ns.v1'));
    // The stream has this change, and perhaps not those after it.
    const [heardAt, bounds] = [rig.source.heardAt.bind(rig.source), rig.source.bounds.bind(rig.source)];
    rig.source.heardAt = () => null;
    rig.source.bounds = async () => ({ ...(await bounds()), isCopy: true });
    const follower = rig.start({ pollMs: 5 });
    await follower.ready;
    assert.deepEqual([rig.view.cursor(), follower.isStale(), follower.currentAt()], [2, true, null]);
    // A heartbeat proves nothing of what was read before (seed 1481794060).
    rig.source.heardAt = heardAt;
    assert.deepEqual([follower.isStale(), follower.currentAt()], [true, null]);
    rig.source.bounds = bounds;
    await rig.until(() => !follower.isStale());
    assert.equal(follower.currentAt(), rig.now);
  });

  it('reads on after a part of the log, up to the end that it knows', async () => {
    rig.source.write(namespaceUpserted('ns'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.write(upserted('a.ns.v1'), upserted('b.ns.v1'), upserted('c.ns.v1'));
    rig.source.bend = (changes) => changes.slice(0, 1);
    await rig.start().ready;
    assert.equal(rig.view.cursor(), 4);
  });

  it('is not current while the source gives nothing of what the log is known to have', async () => {
    rig.source.write(namespaceUpserted('ns'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.write(upserted('a.ns.v1'));
    rig.source.bend = () => [];
    const follower = rig.start({ pollMs: 5 });
    await follower.attempted;
    assert.deepEqual([rig.view.cursor(), follower.isStale(), follower.currentAt()], [1, true, null]);
    rig.source.bend = (changes) => changes;
    await rig.until(() => !follower.isStale());
    rig.assertSame();
  });
});

describe('follower and another database', () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
  });
  afterEach(() => rig.stop());

  it('does not apply the log of another database to its view, and says so at the start', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.epoch = 'second';
    rig.source.write(upserted('b.ns.v1'));
    const { openSnapshot, since } = rig.source.calls;
    const follower = rig.start();
    await assert.rejects(follower.ready, /--accept-new-store/);
    assert.deepEqual(rig.faults, ['other_store']);
    assert.deepEqual([rig.source.calls.openSnapshot, rig.source.calls.since], [openSnapshot, since]);
    assert.equal(rig.view.cursor(), 2);
    assert.equal(rig.view.epoch(), 'first');
  });

  it('serves on after a start while there is only a copy of an earlier log, and does not call it another database', async () => {
    rig.source.epoch = 'first.5';
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.epoch = 'first';
    const bounds = rig.source.bounds.bind(rig.source);
    rig.source.bounds = async () => ({ ...(await bounds()), isCopy: true });
    const follower = rig.start({ pollMs: 5, acceptNewStore: true });
    await follower.attempted;
    assert.deepEqual([rig.faults, rig.view.epoch()], [['source'], 'first.5']);
    rig.source.epoch = 'first.5';
    rig.source.bounds = bounds;
    await follower.ready;
    rig.assertSame();
  });

  it('is not up to date with a copy that ends where its view does, and keeps acceptNewStore, while the origin is away', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower?.stop();
    const bounds = rig.source.bounds.bind(rig.source);
    rig.source.bounds = async () => ({ ...(await bounds()), isCopy: true });
    rig.source.before = (call) => {
      if (call === 'since') throw new Error('the origin is away');
    };
    const follower = rig.start({ pollMs: 5, acceptNewStore: true });
    await follower.attempted;
    assert.deepEqual([rig.faults, follower.state(), follower.isStale()], [['source'], 'failing', true]);
    // The origin is another database.
    rig.source.bounds = bounds;
    rig.source.before = () => undefined;
    rig.source.epoch = 'second';
    await follower.ready;
    assert.deepEqual([rig.faults, rig.view.epoch()], [['source'], 'second']);
  });

  it('rebuilds its view from another database with acceptNewStore', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower?.stop();
    rig.source.epoch = 'second';
    rig.source.write(deleted('a.ns.v1'));
    await rig.start({ acceptNewStore: true }).ready;
    rig.assertSame();
    assert.equal(rig.view.epoch(), 'second');
  });

  it('keeps its view when the database is exchanged while it runs, also with acceptNewStore', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start({ pollMs: 5, acceptNewStore: true }).ready;
    rig.source.epoch = 'second';
    await rig.until(() => rig.states.at(-1) === 'failing');
    assert.deepEqual(rig.faults, ['other_store']);
    assert.deepEqual([rig.view.epoch(), rig.view.cursor()], ['first', 2]);
    assert.notEqual(rig.view.record('a.ns.v1'), null);
  });

  it('applies nothing of a log that got another epoch since it was last compared, although the numbers follow (failover of PostgreSQL)', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    await rig.start().ready;
    // The last commit is lost, and two come in its place and after it.
    rig.source.restore(1);
    rig.source.epoch = 'first.5';
    rig.source.write(upserted('b.ns.v1'), upserted('c.ns.v1'));
    const { since } = rig.source.calls;
    await rig.until(() => rig.source.calls.since > since);
    await nextTurn();
    assert.deepEqual([rig.applied, rig.view.epoch(), rig.view.record('c.ns.v1')], [[], 'first', null]);
    rig.now += 1_000;
    for (const listener of rig.source.listeners) listener(3);
    await rig.until(() => rig.view.epoch() === 'first.5');
    rig.assertSame();
    assert.deepEqual(rig.faults, []);
  });

  it('serves no view whose pages are of two epochs of the log', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'), upserted('c.ns.v1'));
    const served: (string | null)[] = [];
    const rebuild = rig.view.rebuild.bind(rig.view);
    rig.view.rebuild = async () => {
      const started = await rebuild();
      return {
        ...started,
        finish: async (...args) => {
          await started.finish(...args);
          served.push(rig.view.epoch());
        },
      };
    };
    rig.source.before = (call, page) => {
      if (call !== 'page' || page === 0 || rig.source.epoch !== 'first') return;
      rig.source.restore(2);
      rig.source.epoch = 'first.5';
    };
    await rig.start().ready;
    assert.deepEqual(served, ['first.5']);
    rig.assertSame();
  });

  it('rebuilds its view when its database has a later epoch, while it runs, and never for an earlier one', async () => {
    rig.source.epoch = 'first';
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'));
    await rig.start({ pollMs: 5 }).ready;
    // As many changes as before, and others.
    rig.source.restore(1);
    rig.source.write(upserted('c.ns.v1'), upserted('d.ns.v1'));
    rig.source.epoch = 'first.5';
    await rig.until(() => rig.view.epoch() === 'first.5' && rig.states.at(-1) === 'following');
    rig.assertSame();
    assert.equal(rig.view.record('a.ns.v1'), null);
    assert.deepEqual(rig.faults, []);
    rig.source.epoch = 'first.4';
    await rig.until(() => rig.states.at(-1) === 'failing');
    assert.deepEqual([rig.faults, rig.view.epoch()], [['other_store'], 'first.5']);
  });

  it('rebuilds beside the serving view: a reader always finds its names', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'));
    await rig.start({ pollMs: 5 }).ready;
    let pages = 0;
    rig.source.before = (call) => {
      if (call === 'page') pages++;
      assert.notEqual(rig.view.record('a.ns.v1'), null);
      assert.equal(rig.follower?.hasView(), true);
    };
    rig.view.lose();
    await rig.until(() => pages > 3 && rig.states.at(-1) === 'following');
    rig.assertSame();
    assert.deepEqual(rig.faults, []);
  });
});
