import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hit, type Period, secondsToWait } from './limiter.ts';

const RULE = { limit: 3, length: 10_000 };

test('a period starts with its first hit and ends after its length', () => {
  let period: Period | undefined;
  const take = (now: number): number => {
    const wait = secondsToWait(period, RULE, now);
    if (wait === 0) period = hit(period, RULE.length, now);
    return wait;
  };
  for (const [now, wait] of [
    [5_000, 0],
    [6_000, 0],
    [14_999, 0],
    [14_999, 1],
    [14_999, 1],
    [15_000, 0],
    [15_000, 0],
    [15_000, 0],
    [15_000, 10],
    [15_001, 10],
    [16_000, 9],
    [24_000, 1],
    [24_001, 1],
    [25_000, 0],
  ] as const) {
    assert.equal(take(now), wait, `at ${now}`);
  }
});

test('a clock that is set back starts a new period', () => {
  const period = { startedAt: 1_000_000, count: 3 };
  assert.equal(secondsToWait(period, RULE, 999_999), 0);
  assert.deepEqual(hit(period, RULE.length, 5), { startedAt: 5, count: 1 });
});

test('a client that waits for Retry-After is admitted, and no period admits more than its limit', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 4_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (gaps) => {
      let now = 1;
      let period: Period | undefined;
      for (const gap of gaps) {
        now += gap;
        const wait = secondsToWait(period, RULE, now);
        if (wait > 0) assert.equal(secondsToWait(period, RULE, now + wait * 1000), 0);
        else period = hit(period, RULE.length, now);
        assert.ok(period!.count <= RULE.limit);
      }
    }),
  );
});
