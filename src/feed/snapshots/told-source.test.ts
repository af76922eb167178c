import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFakeSource } from '../../../test/support/feed/fake-source.ts';
import { upserted } from '../../../test/support/view/view-changes.ts';
import { toldSource } from './child-process.ts';

it('a view that is built from pages for hours is told of once a minute, and only while pages come', async () => {
  const source = createFakeSource(1);
  source.write(...Array.from({ length: 10 }, (_, i) => upserted(`${'abcdefghij'[i]}.ns.v1`)));
  let now = 0;
  const told: number[] = [];
  const { pages, seq } = await toldSource(
    source,
    () => told.push(now),
    () => now,
  ).openSnapshot();
  assert.deepEqual([seq, told], [10, []]);
  let records = 0;
  for await (const page of pages) {
    records += page.length;
    now += 20_000;
  }
  assert.deepEqual([records, told], [10, [0, 60_000, 120_000, 180_000]]);
});
