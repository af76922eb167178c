import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  checkpointed,
  facts,
  itemsAdded,
  keyAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
  withdrawn,
} from '../../test/support/view/datasets/dataset-changes.ts';
import {
  deleted,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../test/support/view/view-changes.ts';
import { announcedApply, attachFreshness, createFreshness, DATASETS_KEY, isChanging } from './freshness.ts';

describe('freshness', () => {
  const TABLE = [
    ['record.upserted', upserted('a.res.ns.v1'), ['key']],
    ['record.deleted', deleted('a.res.ns.v1'), ['key']],
    ['namespace.upserted', namespaceUpserted('ns'), ['namespace', 'access']],
    ['namespace.closing', { type: 'namespace.closing', namespace: 'ns', id: 'x' }, ['namespace', 'access']],
    ['namespace.deleted', namespaceDeleted('ns'), ['namespace', 'access']],
    ['token.minted', minted('ns', 't'), ['namespace', 'access']],
    ['token.revoked', revoked('ns', 't'), ['namespace', 'access']],
  ] as const;
  for (const [type, change, touched] of TABLE) {
    it(`${type} moves the counters of ${touched.join(' and ')} and the count of commits, before and after its commit, for every thread`, () => {
      const writer = createFreshness();
      const reader = attachFreshness(writer.buffer);
      const counters = {
        key: reader.counterOfKey('a.res.ns.v1'),
        namespace: reader.counterOfNamespace('ns'),
        access: reader.counterOfAccess,
      };
      const read = () => Object.entries(counters).map(([of, index]) => [of, reader.read(index)]);
      const moved = (times: number) =>
        Object.keys(counters).map((of) => [of, touched.some((one) => one === of) ? times : 0]);
      assert.deepEqual(read(), moved(0));
      const commits = reader.commits();
      // Two changes of one name, too: an even number of steps would look as if nothing were under way.
      const end = writer.begin([change, change]);
      assert.equal(reader.commits(), commits + 1);
      assert.deepEqual(read(), moved(1));
      for (const of of touched) assert.equal(isChanging(reader.read(counters[of])), true);
      end();
      assert.equal(reader.commits(), commits + 2);
      assert.deepEqual(read(), moved(2));
      for (const of of touched) assert.equal(isChanging(reader.read(counters[of])), false);
    });
  }

  for (const [change, moves] of [
    [itemsAdded(versionIdOf(1), { item: 'a', windows: [facts(null, null)] }), 0],
    [published(versionIdOf(1), manifestOf('x', '1.0.0')), 1],
    [withdrawn(versionIdOf(1)), 1],
    [keyAdded(1, 5), 1],
    [proved(versionIdOf(1), 'proof\n'), 1],
    [checkpointed('note\n'), 1],
  ] as const) {
    it(`${change.type} moves the counter of the registry ${2 * moves} times, and none of services`, () => {
      const freshness = createFreshness();
      const registry = freshness.counterOfKey(DATASETS_KEY);
      const end = freshness.begin([change]);
      for (const times of [1, 2]) {
        assert.equal(freshness.read(registry), times * moves);
        assert.equal(freshness.commits(), times * moves);
        end();
      }
      assert.equal(freshness.read(freshness.counterOfNamespace('public')), 0);
    });
  }

  it('moves every counter when the view is replaced', () => {
    const freshness = createFreshness();
    const indices = [
      ...['ns', 'ns2'].map((name) => freshness.counterOfNamespace(name)),
      ...['res.ns.v1', 'b.res.ns.v1'].map((key) => freshness.counterOfKey(key)),
      freshness.counterOfAccess,
    ];
    const commits = freshness.commits();
    const end = freshness.beginAll();
    for (const times of [1, 2]) {
      assert.deepEqual(
        indices.map((index) => freshness.read(index)),
        [times, times, times, times, times],
      );
      assert.equal(freshness.commits(), commits + times);
      end();
    }
  });

  it('ends what it began where the commit failed', async () => {
    const freshness = createFreshness();
    const failing = { apply: () => Promise.reject(new Error('no space left')) };
    await assert.rejects(announcedApply(failing, freshness)([namespaceUpserted('ns')], 1), /no space left/);
    assert.equal(freshness.read(freshness.counterOfNamespace('ns')), 2);
  });

  it('spreads names over the stripes', () => {
    const freshness = createFreshness();
    const keys = new Set(Array.from({ length: 10_000 }, (_, i) => freshness.counterOfKey(`k${i}.res.ns.v1`)));
    const names = new Set(
      Array.from({ length: 1000 }, (_, i) => freshness.counterOfNamespace(`tenant-${i}`)),
    );
    // By chance 9,277 and 887 of them would differ.
    assert.ok(keys.size > 9000, `${keys.size}`);
    assert.ok(names.size > 840, `${names.size}`);
    for (const index of [...keys, ...names]) assert.equal(freshness.read(index), 0);
  });

  it('nobody can calculate which names share a counter: it is another choice in each process, the same in its threads', () => {
    const [own, another] = [createFreshness(), createFreshness()];
    const thread = attachFreshness(own.buffer);
    const byCounter = new Map<number, string>();
    const pairs: (readonly [string, string])[] = [];
    for (let i = 0; i < 10_000; i++) {
      const key = `k${i}.res.ns.v1`;
      const counter = own.counterOfKey(key);
      assert.equal(thread.counterOfKey(key), counter);
      const before = byCounter.get(counter);
      if (before !== undefined) pairs.push([before, key]);
      byCounter.set(counter, key);
    }
    // Some 700 share one; by chance one of 90 processes has any of these pairs again.
    assert.ok(pairs.length > 500, `${pairs.length}`);
    const again = pairs.filter(([a, b]) => another.counterOfKey(a) === another.counterOfKey(b));
    assert.ok(again.length <= 2, `${again.length} of ${pairs.length} pairs in both`);
    assert.equal(thread.counterOfNamespace('ns'), own.counterOfNamespace('ns'));
    const order = (octets: number) => Uint8Array.from({ length: octets }, (_, i) => i);
    assert.equal(createFreshness(order).counterOfKey('a'), createFreshness(order).counterOfKey('a'));
  });

  it('refuses to attach to any other buffer', () => {
    assert.throws(() => attachFreshness(new SharedArrayBuffer(64)), RangeError);
  });
});
