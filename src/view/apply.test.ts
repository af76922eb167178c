import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  attestationKey,
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
  digestOf,
  minted,
  NAMESPACE_ID,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../test/support/view/view-changes.ts';
import type { ChangeBody } from '../protocol/change.ts';
import { applyChange, snapshotTarget, type ViewTarget } from './apply.ts';

type Call = readonly [method: keyof ViewTarget, ...args: unknown[]];

/** A target that remembers its calls. */
function recorder(): { readonly target: ViewTarget; readonly calls: Call[] } {
  const calls: Call[] = [];
  const record =
    (method: keyof ViewTarget) =>
    (...args: unknown[]): void => {
      calls.push([method, ...args]);
    };
  const target: ViewTarget = {
    putRecord: record('putRecord'),
    deleteRecord: record('deleteRecord'),
    withholdRecord: record('withholdRecord'),
    rememberExpired: record('rememberExpired'),
    forgetExpired: record('forgetExpired'),
    putNamespace: record('putNamespace'),
    dropNamespace: record('dropNamespace'),
    putToken: record('putToken'),
    deleteToken: record('deleteToken'),
    putItems: record('putItems'),
    publish: record('publish'),
    withdraw: record('withdraw'),
    putKey: record('putKey'),
    putProof: record('putProof'),
    putCheckpoint: record('putCheckpoint'),
  };
  return { target, calls };
}

const ITEM = { item: 'a', windows: [facts(null, 5)] };
const MANIFEST = manifestOf('x', '1.0.0');
const isUpsert = (call: Call): boolean => /^put|^publish|^withdraw/.test(call[0]);

const TABLE: readonly (readonly [change: ChangeBody, call: Call])[] = [
  [
    upserted('a.res.ns.v1', '{}', { contentType: 'application/json; charset=utf-8', expiresAt: 5 }),
    [
      'putRecord',
      'a.res.ns.v1',
      { data: Buffer.from('{}'), plain: false, format: 'json', ttlSeconds: 300, expiresAt: 5 },
    ],
  ],
  [upserted('a.res.ns.v1', '', { data: null }), ['withholdRecord', 'a.res.ns.v1']],
  [deleted('a.res.ns.v1'), ['deleteRecord', 'a.res.ns.v1']],
  [
    namespaceUpserted('ns', true, true),
    ['putNamespace', 'ns', { id: NAMESPACE_ID, publicRead: true, suspended: true }, 60],
  ],
  [
    namespaceUpserted('ns', true, false, NAMESPACE_ID, 3600),
    ['putNamespace', 'ns', { id: NAMESPACE_ID, publicRead: true, suspended: false }, 3600],
  ],
  [
    { type: 'namespace.closing', namespace: 'ns', id: 'n' },
    ['putNamespace', 'ns', { id: 'n', publicRead: false, suspended: true }, 60],
  ],
  [namespaceDeleted('ns'), ['dropNamespace', 'ns']],
  [minted('ns', 't', 9), ['putToken', digestOf('t'), { namespace: 'ns', expiresAt: 9 }]],
  [revoked('ns', 't'), ['deleteToken', digestOf('t')]],
  [itemsAdded(versionIdOf(1), ITEM), ['putItems', versionIdOf(1), [ITEM]]],
  [published(versionIdOf(1), MANIFEST), ['publish', versionIdOf(1), MANIFEST]],
  [withdrawn(versionIdOf(1)), ['withdraw', versionIdOf(1)]],
  [
    keyAdded(1, 5),
    ['putKey', attestationKey(1).kid, { publicKey: attestationKey(1).publicKey, since: 5, end: null }],
  ],
  [proved(versionIdOf(1), 'proof\n'), ['putProof', versionIdOf(1), 'proof\n']],
  [checkpointed('note\n'), ['putCheckpoint', 'note\n']],
];

describe('what a change does to a view', () => {
  for (const [change, call] of TABLE) {
    it(`${change.type}: ${call[0]}`, () => {
      const { target, calls } = recorder();
      applyChange(target, change);
      assert.deepEqual(calls, [call]);
    });
  }

  it('takes only upserts and withdrawals from a snapshot', () => {
    for (const [change, call] of TABLE) {
      const { target, calls } = recorder();
      const apply = (): void => applyChange(snapshotTarget(target), change);
      if (isUpsert(call)) apply();
      else assert.throws(apply, RangeError);
      assert.equal(calls.length, isUpsert(call) ? 1 : 0);
    }
  });
});
