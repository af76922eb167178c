import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../base/limits.ts';
import { retryDelayMs, webhookBackoffMs } from './attempts.ts';

const SCHEDULE = [0, 5, 300, 1800, 7200];
const MIDDLE = 0.5;

describe('retries', () => {
  it('come after the delays of the schedule', () => {
    const table: readonly [failed: number, random: number, retryAfter: number | null, ms: number | null][] = [
      [1, MIDDLE, null, 5000],
      [2, MIDDLE, null, 300_000],
      [3, MIDDLE, null, 1_800_000],
      [4, MIDDLE, null, 7_200_000],
      [5, MIDDLE, null, null],
      [6, MIDDLE, null, null],
      [1, 0, null, 4000],
      [1, 1, null, 6000],
      [4, 0, null, 5_760_000],
      // Retry-After, between the delay and twice it.
      [1, MIDDLE, 0, 5000],
      [1, MIDDLE, 4, 5000],
      [1, MIDDLE, 7, 7000],
      [1, MIDDLE, 10, 10_000],
      [1, MIDDLE, 11, 10_000],
      [1, 0, 86_400, 8000],
      [1, 1, 86_400, 12_000],
      [5, MIDDLE, 10, null],
    ];
    for (const [failed, random, retryAfter, ms] of table) {
      const title = `after attempt ${failed}, ${random}, Retry-After ${retryAfter}`;
      assert.equal(retryDelayMs(failed, SCHEDULE, random, retryAfter), ms, title);
    }
    assert.equal(retryDelayMs(1, [0], MIDDLE, null), null);
    assert.equal(retryDelayMs(1, [0, 0.25], MIDDLE, null), 250);
    assert.equal(retryDelayMs(1, [0, 0], MIDDLE, 60), 0);
  });

  it('wait 0.8 to 1.2 times the delay, and never more than twice that', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const seconds = fc.integer({ min: 0, max: 86_400 });
    fc.assert(
      fc.property(seconds, random, fc.option(fc.nat(200_000)), (delay, factor, retryAfter) => {
        const plain = retryDelayMs(1, [0, delay], factor, null)!;
        const asked = retryDelayMs(1, [0, delay], factor, retryAfter)!;
        assert.ok(Number.isSafeInteger(plain) && Number.isSafeInteger(asked));
        assert.ok(plain >= Math.floor(delay * 800) && plain <= Math.ceil(delay * 1200));
        assert.ok(asked >= plain && asked <= 2 * plain);
      }),
    );
  });

  it('a webhook rests for twice as long each time, up to a minute', () => {
    const seconds = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    seconds.forEach((expected, index) => {
      assert.equal(webhookBackoffMs(index + 1), expected * 1000);
    });
    assert.equal(webhookBackoffMs(LIMITS.webhookFailures), LIMITS.webhookRestMaxMs);
    assert.equal(webhookBackoffMs(5000), LIMITS.webhookRestMaxMs);
  });
});
