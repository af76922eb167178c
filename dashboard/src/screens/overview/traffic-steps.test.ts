import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stepsOf } from './traffic-steps.ts';

const NOW = Date.parse('2026-11-22T12:30:00Z');
const sumOf = (counts: readonly (readonly number[])[]): number =>
  counts.flat().reduce((sum, count) => sum + count, 0);

describe('answers by hour', () => {
  it('are 24 hours up to the present one, also without a row', () => {
    const { starts, counts } = stepsOf([], NOW, null);
    assert.equal(starts.length, 24);
    assert.equal(starts.at(-1), Date.parse('2026-11-22T12:00:00Z') / 1000);
    assert.deepEqual(
      counts.map((line) => line.length),
      [24, 24, 24, 24, 24],
    );
  });

  it('are counted by status, and rows of other hours are left out', () => {
    const { counts } = stepsOf(
      [
        { timestamp: '2026-11-22T12:29:59.999Z', status: 'hit' },
        { timestamp: '2026-11-22T12:00:00.000Z', status: 'hit' },
        { timestamp: '2026-11-22T11:59:59.999Z', status: 'refused' },
        { timestamp: '2026-11-21T12:59:59.999Z', status: 'hit' },
        { timestamp: '2026-11-22T13:00:00.000Z', status: 'hit' },
      ],
      NOW,
      null,
    );
    assert.equal(counts[0]?.at(-1), 2);
    assert.equal(counts[4]?.at(-2), 1);
    assert.equal(sumOf(counts), 3);
  });
});

describe('answers of which only the newest are known', () => {
  it('begin with the oldest known one: an hour without known rows is not drawn as an empty one', () => {
    const since = Date.parse('2026-11-22T12:05:30.250Z');
    const rows = [
      { timestamp: '2026-11-22T12:29:59.999Z', status: 'hit' },
      { timestamp: '2026-11-22T12:05:30.250Z', status: 'miss' },
    ] as const;
    const { starts, counts } = stepsOf(rows, NOW, since);
    assert.equal(starts[0], Date.parse('2026-11-22T12:05:00Z') / 1000);
    assert.deepEqual([starts.length, starts[1]! - starts[0]!], [26, 60]);
    assert.deepEqual([counts[1]?.[0], sumOf(counts)], [1, 2]);
  });

  it('have at most 40 steps, and one when all came in this moment or the clock of the server is ahead', () => {
    for (const seconds of [0, 9, 599, 600, 3_599, 3_600, 86_399]) {
      const { starts } = stepsOf([], NOW, NOW - seconds * 1000);
      assert.ok(starts.length >= 1 && starts.length <= 40, `${seconds}: ${starts.length}`);
    }
    assert.equal(stepsOf([], NOW, NOW + 5_000).starts.length, 1);
  });
});
