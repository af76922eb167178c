import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Breaker, CLOSED, failedAt, mayCall, succeeded } from './client.ts';

const after = (failures: number, from: Breaker = CLOSED, now = 0): Breaker => {
  let breaker = from;
  for (let i = 0; i < failures; i++) breaker = failedAt(breaker, now);
  return breaker;
};

describe('a breaker', () => {
  it('opens at the fifth failure in a row', () => {
    assert.equal(mayCall(after(4), false, 0), true);
    assert.equal(mayCall(after(5), false, 0), false);
    assert.equal(mayCall(succeeded(), false, 0), true);
  });

  it('lets one call probe when its pause is over', () => {
    const open = after(5);
    assert.equal(mayCall(open, false, 14_999), false);
    assert.equal(mayCall(open, false, 15_000), true);
    assert.equal(mayCall(open, true, 15_000), false);
  });

  it('doubles the pause with each probe that fails, up to five minutes', () => {
    let breaker = after(5);
    const pauses: number[] = [];
    for (let i = 0; i < 7; i++) {
      const now = breaker.openUntil;
      breaker = failedAt(breaker, now);
      pauses.push(breaker.openUntil - now);
    }
    assert.deepEqual(pauses, [30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000]);
  });

  it('does not count calls that were out when it opened', () => {
    const open = after(5);
    assert.deepEqual(after(20, open, 1), open);
  });
});
