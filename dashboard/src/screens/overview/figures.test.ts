import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QueryCounts } from '../../../../sdk/src/uqrp-sdk.ts';
import { figuresOf } from './figures.ts';

type Trend = readonly [total: number, before: number] | null;

function counts(
  groups: Readonly<Record<string, readonly [counts: readonly number[], trend: Trend]>>,
): QueryCounts {
  const all = Object.entries(groups).map(([key, [steps, trend]]) => ({
    key,
    counts: steps,
    total: steps.reduce((sum, count) => sum + count, 0),
    trend: trend === null ? null : { total: trend[0], before: trend[1] },
  }));
  return {
    ...{ window: '24h', step: '1h', step_seconds: 3600, group: 'status', dropped: 0 },
    ...{ since: '2026-11-21T13:00:00.000Z', until: '2026-11-22T12:30:00.000Z' },
    total: all.reduce((sum, { total }) => sum + total, 0),
    groups: all,
  };
}

describe('the numbers of the overview', () => {
  it('are all answers, the share of hits among those that were not refused, and refusals', () => {
    const [answers, hits, refused] = figuresOf(
      counts({
        hit: [
          [0, 6],
          [6, 3],
        ],
        miss: [
          [1, 1],
          [2, 1],
        ],
        refused: [
          [0, 2],
          [2, 4],
        ],
      }),
    );
    assert.deepEqual(answers, { name: 'answers', value: 10, points: [1, 9], change: 0.25 });
    assert.deepEqual(hits, { name: 'hits', value: 0.75, points: [0, 6 / 7], change: 0 });
    assert.deepEqual(refused, { name: 'refused', value: 2, points: [0, 2], change: -0.5 });
  });

  it('have no change where nothing was before, or is not known', () => {
    for (const trend of [[3, 0], null] as const) {
      const all = figuresOf(counts({ hit: [[3], trend], miss: [[0], trend], refused: [[0], trend] }));
      assert.deepEqual(
        all.map(({ change }) => change),
        [null, null, null],
      );
    }
  });

  it('of nothing are zero, and no share', () => {
    const [answers, hits] = figuresOf(
      counts({
        hit: [
          [0, 0],
          [0, 0],
        ],
        refused: [
          [0, 0],
          [0, 0],
        ],
      }),
    );
    assert.deepEqual([answers?.value, hits?.value, hits?.points], [0, null, [0, 0]]);
  });
});
