import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NEW_RECORD } from '../../../../src/control/records/shapes.ts';
import { checkedRows, rowOf } from './candidate.ts';
import { planOf, toWrite } from './plan.ts';
import { resultFile } from './result-file.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const context = {
  limits: { key: 178, data: 2586, contentType: 127, ttl: 2_147_483_647 },
  namespaces: new Set(['acme']),
  now: NOW,
};

/** Records, and whether the server takes them. */
const CASES: readonly Readonly<Record<string, unknown>>[] = [
  { key: 'a.acme.v1', data: '' },
  { key: 'A.Acme.v1', data: 'YQ==' },
  { key: 'a.acme.v1', data: 'YQ' },
  { key: 'a.acme.v1', data: Buffer.alloc(2586).toString('base64') },
  { key: 'a.acme.v1', data: Buffer.alloc(2587).toString('base64') },
  { key: 'a.acme', data: '' },
  { key: 'a.acme.v1', data: '', content_type: 'text' },
  { key: 'a.acme.v1', data: '', content_type: 'text/plain; a=b' },
  { key: 'a.acme.v1', data: 'YQ==', encoding: 'plain' },
  { key: 'a.acme.v1', data: 'YQo=', encoding: 'plain' },
  { key: 'a.acme.v1', data: '/w==', encoding: 'plain' },
  { key: 'a.acme.v1', data: 'YQo=', encoding: 'b64' },
  { key: 'a.acme.v1', data: '', encoding: 'aes' },
  { key: 'a.acme.v1', data: '', encoding: null },
  { key: 'a.acme.v1', data: '', ttl_seconds: -1 },
  { key: 'a.acme.v1', data: '', ttl_seconds: 1.5 },
  { key: 'a.acme.v1', data: '', ttl_seconds: 2_147_483_648 },
  { key: 'a.acme.v1', data: '', ttl_seconds: null },
  { key: 'a.acme.v1', data: '', expires_in: 0 },
  { key: 'a.acme.v1', data: '', expires_in: 60 },
  { key: 'a.acme.v1', data: '', expires_in: -1 },
  { key: 'a.acme.v1', data: '', expires_at: null },
  { key: 'a.acme.v1', data: '', expires_at: '2020-01-01' },
  { key: 'a.acme.v1', data: '', expires_at: '2030-01-01' },
  { key: 'a.acme.v1', data: '', expires_at: '2030-01-01T12:30Z' },
  { key: 'a.acme.v1', data: '', expires_at: '2030-01-01T12:30' },
  { key: 'a.acme.v1', data: '', expires_at: 'tomorrow' },
  { key: 'a.acme.v1', data: '', expires_at: '2030-01-01', expires_in: 1 },
  { key: 'a.acme.v1', data: 1 },
  { key: 'a.acme.v1', data: '', colour: 'red' },
];

describe('the dry run', () => {
  it('refuses what the server refuses, and nothing else', () => {
    for (const fields of CASES) {
      let isTaken = true;
      try {
        NEW_RECORD.parse(fields as never, { now: NOW, zoneLength: 8 });
      } catch {
        isTaken = false;
      }
      const [row] = checkedRows([rowOf(1, fields)], context);
      assert.equal(row?.refusal === null, isTaken, JSON.stringify(fields).slice(0, 120));
    }
  });

  it('refuses keys of other namespaces, and the second of two', () => {
    const rows = [
      rowOf(1, { key: 'a.other.v1', data: '' }),
      rowOf(2, { key: 'b.acme.v1', data: '' }),
      rowOf(3, { key: 'B.acme.v1', data: 'YQ==' }),
    ];
    assert.deepEqual(
      checkedRows(rows, context).map(({ refusal }) => refusal),
      ['namespace', null, 'twice'],
    );
  });

  it('tells new, changed, same and refused apart', () => {
    const stored = {
      key: 'a.acme.v1',
      data: 'YQ==',
      content_type: 'text/plain',
      ttl_seconds: 300,
      expires_at: '2030-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
    };
    const same = { key: 'a.acme.v1', data: 'YQ==', content_type: 'text/plain', expires_at: '2030-01-01' };
    const plan = (record: object) =>
      planOf(checkedRows([rowOf(1, record)], context), new Map([[stored.key, stored]]), 300).rows[0]!;
    assert.equal(plan(same).change, 'same');
    assert.deepEqual(plan({ ...same, data: 'Yg==' }).fields, ['data']);
    assert.deepEqual(plan({ key: 'a.acme.v1', data: 'YQ==' }).fields, ['content_type', 'expires_at']);
    assert.deepEqual(plan({ ...same, expires_at: undefined, expires_in: 60 }).fields, ['expires_at']);
    assert.equal(plan({ ...same, key: 'b.acme.v1' }).change, 'new');
    assert.equal(plan({ ...same, key: 'b.acme' }).change, 'refused');
  });

  it('writes what became of each row into a file', () => {
    const rows = ['a', 'b', 'c', 'd'].map((name, at) => rowOf(at + 1, { key: `${name}.acme.v1`, data: '' }));
    const all = [...rows, rowOf(5, { key: 'x', data: '' })];
    const stored = {
      key: 'a.acme.v1',
      data: '',
      content_type: 'application/octet-stream',
      ttl_seconds: 300,
      expires_at: null,
      updated_at: '2026-01-01T00:00:00.000Z',
    };
    const plan = planOf(
      checkedRows(all, context),
      new Map([
        ['a.acme.v1', stored],
        ['b.acme.v1', { ...stored, data: 'YQ==' }],
      ]),
      300,
    );
    assert.deepEqual(
      toWrite(plan).map(({ key, record }) => [key, record.if_updated_at]),
      [
        ['b.acme.v1', stored.updated_at],
        ['c.acme.v1', null],
        ['d.acme.v1', null],
      ],
    );
    assert.deepEqual(plan.counts, { new: 2, changed: 1, same: 1, refused: 1 });
    const outcomes = new Map([
      ['b.acme.v1', { kind: 'done' }],
      ['c.acme.v1', { kind: 'refused', message: 'no' }],
    ] as const);
    const file = resultFile(plan, outcomes, (reason) => `because of ${reason}`);
    assert.deepEqual(
      file
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [
        { line: 1, key: 'a.acme.v1', result: 'same' },
        { line: 2, key: 'b.acme.v1', result: 'replaced' },
        { line: 3, key: 'c.acme.v1', result: 'refused', message: 'no' },
        { line: 4, key: 'd.acme.v1', result: 'not_done' },
        { line: 5, key: 'x', result: 'refused', message: 'because of key_parts' },
      ],
    );
  });
});
