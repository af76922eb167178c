import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  deleted,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/view/view-changes.ts';
import type { AppliedChange } from '../../protocol/change.ts';
import { applyChange } from '../apply.ts';
import { createNew, FIRST, type Tree } from '../lmdb/tree.ts';
import type { DatasetTarget } from '../view.ts';
import { hostedTarget } from './record-table.ts';

const refuse = (): never => {
  throw new RangeError('no change of a dataset is here');
};
const NO_DATASETS: DatasetTarget = {
  putItems: refuse,
  publish: refuse,
  withdraw: refuse,
  putKey: refuse,
  putProof: refuse,
  putCheckpoint: refuse,
};

/** What is written and taken back, beside a namespace "ns" with a record of its own. */
const PAIRS: readonly (readonly [what: string, written: AppliedChange[], taken: AppliedChange[]])[] = [
  ['a record', [upserted('a.doc.ns.v1')], [deleted('a.doc.ns.v1')]],
  ['the only record of a version', [upserted('a.doc.ns.v2')], [deleted('a.doc.ns.v2')]],
  ['a token', [minted('ns', 'one')], [revoked('ns', 'one')]],
  [
    'a namespace with all that is in it',
    [
      namespaceUpserted('other', true, false, undefined, 60),
      upserted('a.doc.other.v1'),
      upserted('a.doc.other.v2'),
      minted('other', 'two'),
    ],
    [namespaceDeleted('other')],
  ],
];

describe('the table of hosted records', () => {
  let directory: string;
  let tree: Tree;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'record-table-'));
    tree = createNew(join(directory, 'tree.mdb'));
  });
  after(async () => {
    await tree.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const apply = (changes: readonly AppliedChange[]): void =>
    tree.transactionSync(() => {
      const target = hostedTarget(tree, () => {});
      for (const change of changes) applyChange({ ...target, ...NO_DATASETS }, change);
    });
  const keys = (): string[] =>
    [...tree.getKeys({ start: Uint8Array.of(0), limit: 9999 })].map((key) =>
      Buffer.from(key).toString('hex'),
    );

  for (const [what, written, taken] of PAIRS)
    it(`has nothing left of ${what} that is taken back`, () => {
      apply([namespaceUpserted('ns'), upserted('b.doc.ns.v1')]);
      const before = keys();
      apply(written);
      assert.ok(keys().length > before.length);
      apply(taken);
      assert.deepEqual(keys(), before);
    });

  it('keeps a token under keys that no record has', () => {
    const { digest } = { digest: '', ...minted('ns', 'one') };
    assert.match(digest, /^7/, 'alone the digest would begin as a namespace does');
    apply([minted('ns', 'one')]);
    const own = keys().filter((key) => key.endsWith(digest));
    assert.deepEqual(
      own.map((key) => Number.parseInt(key.slice(0, 2), 16)),
      [FIRST.token, FIRST.tokenOf],
    );
  });
});
