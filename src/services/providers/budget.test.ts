import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { QUEUE_SHARES } from '../../dns/shared/handler.ts';
import { ASKER_SHARES, type Asker, Budget } from './budget.ts';
import type { RateLimit } from './source.ts';

const MINUTE: RateLimit = { calls: 600, perMs: 60_000 };
const ME: Asker = { node: '', share: 0 };

/** @returns how many calls it gets at once, up to `max` */
function takes(budget: Budget, now: number, asker: Asker, max = 10_000): number {
  let taken = 0;
  while (taken < max && budget.take(now, asker) === 0) taken++;
  return taken;
}

const proven = (share: number, node = ''): Asker => ({ node, share: share * 2 });
const forgeable = (share: number, node = ''): Asker => ({ node, share: share * 2 + 1 });
const ALL = Array.from({ length: QUEUE_SHARES }, (_, share) => share);

describe('a budget', () => {
  it('gives one asker half of its capacity at once, then what comes, and says how long that takes', () => {
    const budget = new Budget([MINUTE], 0);
    assert.equal(takes(budget, 0, ME), 135);
    assert.equal(budget.take(0, ME), 223);
    let inMinute = 0;
    for (let now = 1; now <= 60_000; now++) if (budget.take(now, ME) === 0) inMinute++;
    assert.ok(Math.abs(inMinute - 270) <= 1, `${inMinute}`);
  });

  it('gives two who take all they can the same in the end, though one came first', () => {
    const budget = new Budget([MINUTE], 0);
    takes(budget, 0, proven(1));
    const had = [0, 0];
    for (let now = 100; now <= 600_000; now += 100) {
      for (const i of [0, 1]) had[i]! += takes(budget, now, proven(i + 1));
    }
    const [first, second] = had as [number, number];
    assert.ok(first + second >= 2690, `${first} ${second}`);
    assert.ok(Math.abs(first - second) < 150, `${first} ${second}`);
  });

  it('leaves a quarter to proven addresses whatever is forged, and a fifth to others whatever one node asks', () => {
    const budget = new Budget([MINUTE], 0);
    let taken = 0;
    for (const share of ALL) taken += takes(budget, 0, forgeable(share));
    assert.equal(taken, 203);
    assert.equal(takes(budget, 0, proven(7)), 34);
    const shared = new Budget([MINUTE], 0);
    taken = 0;
    for (const share of ALL) {
      taken += takes(shared, 0, forgeable(share, 'fra1'));
      taken += takes(shared, 0, proven(share, 'fra1'));
    }
    assert.equal(taken, 216);
    assert.equal(takes(shared, 0, proven(0, 'nyc1')), 27);
  });

  it('needs a token of every limit, and takes none when one is lacking', () => {
    const budget = new Budget([MINUTE, { calls: 3, perMs: 3_600_000 }], 0);
    assert.equal(budget.take(0, ME), 0);
    assert.ok(budget.take(0, ME) >= 3_600_000);
    assert.deepEqual(budget.state().tokens, [269, 0]);
  });

  it('never admits more than 90 % of a limit in any period, whoever asks and however', () => {
    const limit = fc.record({
      calls: fc.integer({ min: 3, max: 50 }),
      perMs: fc.integer({ min: 10, max: 1000 }),
    });
    const asked = fc.tuple(fc.nat(40), fc.nat(5));
    fc.assert(
      fc.property(limit, fc.array(asked, { minLength: 50, maxLength: 300 }), (rule, questions) => {
        const budget = new Budget([rule], 0);
        const admitted: number[] = [];
        let now = 0;
        for (const [pause, share] of questions) {
          now += pause;
          if (budget.take(now, { node: '', share }) === 0) admitted.push(now);
        }
        for (const start of admitted) {
          const inPeriod = admitted.filter((at) => at >= start && at < start + rule.perMs).length;
          assert.ok(inPeriod <= Math.max(2, rule.calls * 0.9), `${inPeriod} of ${rule.calls}`);
        }
      }),
    );
  });

  it('refuses nobody who asks for an eighth of what comes, whatever others take', () => {
    const limit = fc.record({
      calls: fc.integer({ min: 100, max: 2000 }),
      perMs: fc.constantFrom(1000, 10_000, 60_000),
    });
    /** Who floods: shares of this process and of a node, with proven addresses and forged ones. */
    const flooders = fc.uniqueArray(
      fc.record({ node: fc.constantFrom('', 'fra1'), share: fc.integer({ min: 2, max: ASKER_SHARES - 1 }) }),
      { minLength: 1, maxLength: 3, selector: ({ node, share }) => `${node} ${share}` },
    );
    /** Parts of the time in which an eighth comes for one question of the honest one. */
    const steps = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 20, maxLength: 200 });
    fc.assert(
      fc.property(limit, flooders, steps, fc.nat(200), (rule, others, pauses, warmUp) => {
        const budget = new Budget([rule], 0);
        const capacity = Math.floor(rule.calls * 0.45);
        const msOfToken = rule.perMs / capacity;
        let now = 0;
        let mayAsk = 1;
        const flood = (): void => {
          for (const other of others) takes(budget, now, other);
        };
        for (let i = 0; i < warmUp; i++) {
          now += msOfToken / 3;
          flood();
        }
        for (const pause of pauses) {
          const ms = (pause / 100) * 8 * msOfToken;
          now += ms;
          mayAsk = Math.min(1, mayAsk + ms / (8 * msOfToken));
          flood();
          if (mayAsk < 1) continue;
          mayAsk -= 1;
          assert.equal(budget.take(now, ME), 0, 'the honest one is refused');
        }
      }),
      { numRuns: 200 },
    );
  });

  it('says the same wait to all who have no room', () => {
    const budget = new Budget([MINUTE], 0);
    const waits = [forgeable(1), forgeable(2), proven(1)].map((asker) => {
      takes(budget, 0, asker);
      return budget.take(0, asker);
    });
    assert.deepEqual(waits, [223, 223, 223]);
  });

  it('is what it was after a restart, plus what the time has brought', () => {
    const before = new Budget([MINUTE], 0);
    for (const share of ALL) takes(before, 0, proven(share));
    const [left] = before.state().tokens;
    const after = new Budget([MINUTE], 30_000);
    after.restore(before.state(), 30_000);
    assert.deepEqual(after.state(), { tokens: [left! + 135], at: 30_000 });
    const other = new Budget([MINUTE, MINUTE], 0);
    other.restore(before.state(), 0);
    assert.deepEqual(other.state().tokens, [270, 270], 'a state of other limits says nothing');
    const early = new Budget([MINUTE], 0);
    early.restore({ tokens: [1], at: 10 }, 0);
    assert.deepEqual(early.state().tokens, [270], 'nor does one of the future');
  });

  it('gives nothing for a clock that goes back', () => {
    const budget = new Budget([MINUTE], 1000);
    takes(budget, 1000, ME);
    assert.ok(budget.take(500, ME) > 0);
  });
});

it('every share of a source, proven or not, is the share of an asker', () => {
  assert.equal(ASKER_SHARES, 2 * QUEUE_SHARES);
});
