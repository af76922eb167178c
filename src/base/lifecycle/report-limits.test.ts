import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReportLimits } from './report-limits.ts';

const MINUTE = 60_000;

describe('report limits', () => {
  it('let through the first of each key, then ever fewer, at least one an hour', () => {
    let now = 0;
    const isDue = createReportLimits<string>(() => now);
    const reported: number[] = [];
    for (; now <= 300 * MINUTE; now += MINUTE) if (isDue('a')) reported.push(now / MINUTE);
    assert.deepEqual(reported, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
    assert.equal(isDue('b'), true);
    assert.equal(isDue('b'), false);
  });

  it('begin again after an hour without a repetition', () => {
    let now = 0;
    const isDue = createReportLimits<string>(() => now);
    isDue('a');
    now = 30 * MINUTE;
    assert.equal(isDue('a'), true);
    now += 60 * MINUTE - 1;
    assert.equal(isDue('a'), true);
    now += 1;
    assert.equal(isDue('a'), false);
    now += 60 * MINUTE;
    assert.deepEqual([isDue('a'), isDue('a')], [true, false]);
    now += MINUTE;
    assert.equal(isDue('a'), true);
  });
});
