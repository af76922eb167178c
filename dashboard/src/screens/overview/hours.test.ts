import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hoursOf } from './hours.ts';

const NOW = Date.parse('2026-11-22T12:30:00Z');

describe('answers by hour', () => {
  it('are 24 hours up to the present one, also without a row', () => {
    const { starts, counts } = hoursOf([], NOW);
    assert.equal(starts.length, 24);
    assert.equal(starts.at(-1), Date.parse('2026-11-22T12:00:00Z') / 1000);
    assert.deepEqual(
      counts.map((line) => line.length),
      [24, 24, 24, 24, 24],
    );
  });

  it('are counted by status, and rows of other hours are left out', () => {
    const { counts } = hoursOf(
      [
        { timestamp: '2026-11-22T12:29:59.999Z', status: 'hit' },
        { timestamp: '2026-11-22T12:00:00.000Z', status: 'hit' },
        { timestamp: '2026-11-22T11:59:59.999Z', status: 'refused' },
        { timestamp: '2026-11-21T12:59:59.999Z', status: 'hit' },
        { timestamp: '2026-11-22T13:00:00.000Z', status: 'hit' },
      ],
      NOW,
    );
    assert.equal(counts[0]?.at(-1), 2);
    assert.equal(counts[4]?.at(-2), 1);
    assert.equal(
      counts.flat().reduce((sum, count) => sum + count, 0),
      3,
    );
  });
});
