import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deleted,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/edge/hosted/view-changes.ts';
import { attachStamps, createStamps } from './stamps.ts';

describe('stamps', () => {
  const TABLE = [
    ['record.upserted', upserted('a.res.ns.v1'), 'key'],
    ['record.deleted', deleted('a.res.ns.v1'), 'key'],
    ['namespace.upserted', namespaceUpserted('ns'), 'namespace'],
    ['namespace.deleted', namespaceDeleted('ns'), 'namespace'],
    ['token.minted', minted('ns', 't'), 'namespace'],
    ['token.revoked', revoked('ns', 't'), 'namespace'],
  ] as const;
  for (const [type, change, touched] of TABLE) {
    it(`${type} moves the stamp of its ${touched} and the count of commits, for every thread`, () => {
      const writer = createStamps();
      const reader = attachStamps(writer.buffer);
      const stripes = { key: reader.stampOfKey('a.res.ns.v1'), namespace: reader.stampOfNamespace('ns') };
      const read = () => ({ key: reader.read(stripes.key), namespace: reader.read(stripes.namespace) });
      const before = read();
      const commits = reader.commits();
      writer.bumpFor(change);
      assert.equal(reader.commits(), commits + 1);
      assert.deepEqual(read(), { ...before, [touched]: before[touched] + 1 });
    });
  }

  it('moves every stamp when the view is made anew', () => {
    const stamps = createStamps();
    const indices = [
      ...['ns', 'ns2'].map((name) => stamps.stampOfNamespace(name)),
      ...['res.ns.v1', 'b.res.ns.v1'].map((key) => stamps.stampOfKey(key)),
    ];
    const commits = stamps.commits();
    stamps.bumpAll();
    assert.deepEqual(
      indices.map((index) => stamps.read(index)),
      [1, 1, 1, 1],
    );
    assert.equal(stamps.commits(), commits + 1);
  });

  it('spreads names over the stripes', () => {
    const stamps = createStamps();
    const keys = new Set(Array.from({ length: 10_000 }, (_, i) => stamps.stampOfKey(`k${i}.res.ns.v1`)));
    const names = new Set(Array.from({ length: 1000 }, (_, i) => stamps.stampOfNamespace(`tenant-${i}`)));
    // By chance 9,277 and 887 of them would differ.
    assert.ok(keys.size > 9000, `${keys.size}`);
    assert.ok(names.size > 840, `${names.size}`);
    for (const index of [...keys, ...names]) assert.equal(stamps.read(index), 0);
  });

  it('attaches to nothing else', () => {
    assert.throws(() => attachStamps(new SharedArrayBuffer(64)), RangeError);
  });
});
