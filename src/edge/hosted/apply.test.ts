import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deleted,
  digestOf,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/edge/hosted/view-changes.ts';
import type { ChangeBody } from '../../core/change.ts';
import { snapshotOperations, type ViewOperation, viewOperations } from './apply.ts';

const DATA = Buffer.from('{}');

const TABLE: readonly (readonly [change: ChangeBody, operation: ViewOperation | null])[] = [
  [
    upserted('a.res.ns.v1', '{}', { contentType: 'application/json; charset=utf-8', expiresAt: 5 }),
    {
      kind: 'put-record',
      key: 'a.res.ns.v1',
      record: { data: DATA, format: 'json', ttlSeconds: 300, expiresAt: 5 },
    },
  ],
  [upserted('a.res.ns.v1', '', { data: null }), null],
  [deleted('a.res.ns.v1'), { kind: 'delete-record', key: 'a.res.ns.v1' }],
  [
    namespaceUpserted('ns', true, true),
    { kind: 'put-namespace', name: 'ns', namespace: { publicRead: true, suspended: true } },
  ],
  [namespaceDeleted('ns'), { kind: 'drop-namespace', name: 'ns' }],
  [
    minted('ns', 't', 9),
    { kind: 'put-token', digest: digestOf('t'), token: { namespace: 'ns', expiresAt: 9 } },
  ],
  [revoked('ns', 't'), { kind: 'delete-token', digest: digestOf('t') }],
];

describe('what a change does to a view', () => {
  for (const [change, operation] of TABLE) {
    it(`${change.type}: ${operation?.kind ?? 'nothing'}`, () => {
      assert.deepEqual(viewOperations([change]), operation === null ? [] : [operation]);
    });
  }

  it('keeps the order', () => {
    const kinds = viewOperations(TABLE.map(([change]) => change)).map(({ kind }) => kind);
    assert.deepEqual(
      kinds,
      TABLE.flatMap(([, operation]) => operation?.kind ?? []),
    );
  });

  it('takes only upserts from a snapshot', () => {
    for (const [change, operation] of TABLE) {
      if (operation === null || operation.kind.startsWith('put-')) snapshotOperations([change]);
      else assert.throws(() => snapshotOperations([change]), RangeError);
    }
  });
});
