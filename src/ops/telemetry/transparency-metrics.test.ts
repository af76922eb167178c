import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';
import type { TransparencyNow } from './transparency-metrics.ts';

/** Lines of the metrics of the transparency log, without help and types. */
async function lines(transparency: () => TransparencyNow | null, now = 10_000): Promise<string[]> {
  const metrics = createMetrics({
    edgeStats: null,
    feedLag: () => null,
    process: false,
    transparency: { now: transparency, clock: () => now },
  });
  return (await metrics.text()).split('\n').filter((line) => line.startsWith('uqrp_transparency_'));
}

const FOUND: TransparencyNow = {
  state: 'behind',
  entries: 7,
  signed: 6,
  published: 5,
  publishedAt: 4000,
  witnesses: [{ state: 'ahead' }, { state: 'away' }, { state: 'away' }],
};

test('the metrics of the transparency log tell its sizes, its state, its age and its witnesses', async () => {
  const found = await lines(() => FOUND);
  for (const line of [
    'uqrp_transparency_entries 7',
    'uqrp_transparency_signed_entries 6',
    'uqrp_transparency_published_entries 5',
    'uqrp_transparency_checkpoint_age_seconds 6',
    'uqrp_transparency_state{state="behind"} 1',
    'uqrp_transparency_state{state="current"} 0',
    'uqrp_transparency_witnesses{state="ahead"} 1',
    'uqrp_transparency_witnesses{state="away"} 2',
    'uqrp_transparency_witnesses{state="cosigned"} 0',
  ]) {
    assert.ok(found.includes(line), line);
  }
});

test('a log that has published nothing has no age, and a clock that was set back no negative one', async () => {
  const withoutAge = await lines(() => ({ ...FOUND, publishedAt: null }));
  assert.deepEqual(
    withoutAge.filter((line) => line.includes('_age_')),
    [],
  );
  assert.ok((await lines(() => FOUND, 1000)).includes('uqrp_transparency_checkpoint_age_seconds 0'));
});

test('a process that signs no log exports none of them', async () => {
  assert.deepEqual(await lines(() => null), []);
});
