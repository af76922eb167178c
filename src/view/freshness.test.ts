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
import { attachFreshness, createFreshness, DATASETS_KEY } from './freshness.ts';

describe('freshness', () => {
  const TABLE = [
    ['record.upserted', upserted('a.res.ns.v1'), 'key'],
    ['record.deleted', deleted('a.res.ns.v1'), 'key'],
    ['namespace.upserted', namespaceUpserted('ns'), 'namespace'],
    ['namespace.deleted', namespaceDeleted('ns'), 'namespace'],
    ['token.minted', minted('ns', 't'), 'namespace'],
    ['token.revoked', revoked('ns', 't'), 'namespace'],
  ] as const;
  for (const [type, change, touched] of TABLE) {
    it(`${type} moves the counter of its ${touched} and the count of commits, for every thread`, () => {
      const writer = createFreshness();
      const reader = attachFreshness(writer.buffer);
      const stripes = { key: reader.counterOfKey('a.res.ns.v1'), namespace: reader.counterOfNamespace('ns') };
      const read = () => ({ key: reader.read(stripes.key), namespace: reader.read(stripes.namespace) });
      const before = read();
      const commits = reader.commits();
      writer.bumpFor(change);
      assert.equal(reader.commits(), commits + 1);
      assert.deepEqual(read(), { ...before, [touched]: before[touched] + 1 });
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
    it(`${change.type} moves the counter of the registry ${moves} times, and none of services`, () => {
      const freshness = createFreshness();
      const registry = freshness.counterOfKey(DATASETS_KEY);
      freshness.bumpFor(change);
      assert.equal(freshness.read(registry), moves);
      assert.equal(freshness.commits(), moves);
      assert.equal(freshness.read(freshness.counterOfNamespace('public')), 0);
    });
  }

  it('moves every counter when the view is replaced', () => {
    const freshness = createFreshness();
    const indices = [
      ...['ns', 'ns2'].map((name) => freshness.counterOfNamespace(name)),
      ...['res.ns.v1', 'b.res.ns.v1'].map((key) => freshness.counterOfKey(key)),
    ];
    const commits = freshness.commits();
    freshness.bumpAll();
    assert.deepEqual(
      indices.map((index) => freshness.read(index)),
      [1, 1, 1, 1],
    );
    assert.equal(freshness.commits(), commits + 1);
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

  it('refuses to attach to any other buffer', () => {
    assert.throws(() => attachFreshness(new SharedArrayBuffer(64)), RangeError);
  });
});
