import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Budget } from './client.ts';
import type { RateLimit } from './source.ts';

const MINUTE: RateLimit = { calls: 600, perMs: 60_000 };

describe('a budget', () => {
  it('admits its capacity at once, then says how long to wait', () => {
    const budget = new Budget([MINUTE], 0);
    for (let i = 0; i < 270; i++) assert.equal(budget.take(0), 0);
    assert.equal(budget.take(0), 223);
    assert.ok(budget.take(222) > 0);
    assert.equal(budget.take(223), 0);
  });

  it('needs a token of every limit, and takes none when one is lacking', () => {
    const budget = new Budget([MINUTE, { calls: 3, perMs: 3_600_000 }], 0);
    assert.equal(budget.take(0), 0);
    assert.ok(budget.take(0) >= 3_600_000);
    assert.deepEqual(budget.state().tokens, [269, 0]);
  });

  it('never admits more than 90 % of a limit in any period, however it is asked', () => {
    const limit = fc.record({
      calls: fc.integer({ min: 3, max: 50 }),
      perMs: fc.integer({ min: 10, max: 1000 }),
    });
    fc.assert(
      fc.property(limit, fc.array(fc.nat(40), { minLength: 50, maxLength: 300 }), (rule, pauses) => {
        const budget = new Budget([rule], 0);
        const admitted: number[] = [];
        let now = 0;
        for (const pause of pauses) {
          now += pause;
          if (budget.take(now) === 0) admitted.push(now);
        }
        for (const start of admitted) {
          const inPeriod = admitted.filter((at) => at >= start && at < start + rule.perMs).length;
          assert.ok(inPeriod <= Math.max(2, rule.calls * 0.9), `${inPeriod} of ${rule.calls}`);
        }
      }),
    );
  });

  it('is what it was after a restart, plus what the time has brought', () => {
    const before = new Budget([MINUTE], 0);
    while (before.take(0) === 0);
    const after = new Budget([MINUTE], 30_000);
    after.restore(before.state(), 30_000);
    assert.deepEqual(after.state(), { tokens: [135], at: 30_000 });
    const other = new Budget([MINUTE, MINUTE], 0);
    other.restore(before.state(), 0);
    assert.deepEqual(other.state().tokens, [270, 270], 'a state of other limits says nothing');
    const early = new Budget([MINUTE], 0);
    early.restore({ tokens: [1], at: 10 }, 0);
    assert.deepEqual(early.state().tokens, [270], 'nor does one of the future');
  });

  it('gives nothing for a clock that goes back', () => {
    const budget = new Budget([MINUTE], 1000);
    while (budget.take(1000) === 0);
    assert.ok(budget.take(500) > 0);
  });
});
