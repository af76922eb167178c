import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { ProviderState } from './client.ts';
import { readSnapshot, writeSnapshot } from './open.ts';

describe('the snapshot', () => {
  const directory = mkdtempSync(join(tmpdir(), 'uqrp-snapshot-'));
  const path = join(directory, 'below', 'providers.json');
  after(() => rmSync(directory, { recursive: true, force: true }));

  const TIMES = { time: 0, at: 1, freshUntil: 2, notBefore: 0 };
  const state: ProviderState = {
    entries: [
      ['crypto A', { value: { price: 1 }, ...TIMES, source: 'kraken', validator: null }],
      ['forex B', { value: null, ...TIMES, source: 'ecb', validator: 'Thu, 01 Jan 2026' }],
    ],
    budgets: [['kraken', { tokens: [1.5], at: 3 }]],
  };

  it('comes back as it went, readable by its owner alone, without a draft left behind', async () => {
    assert.equal(await readSnapshot(path), null);
    await writeSnapshot(path, state);
    await writeSnapshot(path, state);
    assert.deepEqual(await readSnapshot(path), state);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(directory, 'below')), ['providers.json']);
  });

  it('is nothing when it is damaged, and loses the rows that are', async () => {
    const whole = JSON.stringify({ format: 2, ...state });
    for (const text of [
      '',
      'nonsense',
      whole.slice(0, -5),
      '[]',
      'null',
      whole.replace('2', '1'),
      '{"format":1}',
    ]) {
      writeFileSync(path, text);
      assert.equal(await readSnapshot(path), null, text);
    }
    const [, entry] = state.entries[0]!;
    const faulty = Object.keys(entry).map((field) => [
      field,
      { ...entry, [field]: field === 'value' ? undefined : {} },
    ]);
    const rows = [...state.entries, 7, ['x'], ['x', {}], ...faulty];
    writeFileSync(
      path,
      JSON.stringify({
        format: 2,
        entries: rows,
        budgets: [
          ['ecb', null],
          ['ecb', { at: 1 }],
        ],
      }),
    );
    assert.deepEqual(await readSnapshot(path), { entries: state.entries, budgets: [] });
  });
});
