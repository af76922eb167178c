import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../base/limits.ts';
import { countAttempt, mayAttempt, roomAt } from './hourly-attempts.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const LIMIT = LIMITS.webhookAttemptsPerHour;

function countMany(text: string, times: number, at: number): string {
  let counted = text;
  for (let done = 0; done < times; done++)
    counted = countAttempt(counted, at) ?? assert.fail('over the limit');
  return counted;
}

describe('the hourly limit', () => {
  it('takes 600 and not 601', () => {
    const nearly = countMany('[]', LIMIT - 1, 0);
    assert.equal(mayAttempt(nearly, 0), true);
    const full = countMany(nearly, 1, 0);
    assert.equal(full, `[[0,${LIMIT}]]`);
    assert.equal(mayAttempt(full, 0), false);
    assert.equal(countAttempt(full, 0), null);
  });

  it('allows attempts again once the counted minute is an hour old', () => {
    const full = countMany('[]', LIMIT, 30_000);
    assert.equal(mayAttempt(full, 30_000 + HOUR), false);
    assert.equal(mayAttempt(full, MINUTE + HOUR - 1), false);
    assert.equal(mayAttempt(full, MINUTE + HOUR), true);
  });

  it('knows when the next attempt is allowed', () => {
    assert.equal(roomAt('[]', 5, 0), 5);
    assert.equal(roomAt(countMany('[]', LIMIT - 1, 0), 7, 0), 7);
    for (const minutes of [
      [[3, LIMIT]],
      [
        [1, 1],
        [2, 1],
        [3, LIMIT],
      ],
      [
        [3, 1],
        [4, LIMIT - 1],
      ],
    ]) {
      const text = JSON.stringify(minutes);
      const at = roomAt(text, 5 * MINUTE, 0);
      assert.equal(at, 64 * MINUTE, text);
      assert.deepEqual([mayAttempt(text, at - 1), mayAttempt(text, at)], [false, true], text);
    }
  });

  it('knows when one is allowed after others that are due', () => {
    const text = JSON.stringify([
      [1, 10],
      [3, LIMIT - 20],
    ]);
    for (const [before, at] of [
      [9, 5],
      [10, 62],
      [19, 62],
      [20, 64],
      [LIMIT - 1, 64],
      [LIMIT, 66],
    ] as const)
      assert.equal(roomAt(text, 5 * MINUTE, before), at * MINUTE, `after ${before}`);
    assert.equal(roomAt('[]', 5 * MINUTE, LIMIT - 1), 5 * MINUTE);
  });

  it('counts what came in minutes, in order', () => {
    let text = countMany('[]', 2, 5);
    text = countMany(text, 3, 2 * MINUTE);
    assert.equal(text, '[[0,2],[2,3]]');
    assert.equal(countAttempt(text, 61 * MINUTE), '[[2,3],[61,1]]');
  });

  it('counts minutes ahead of a clock that was set back as the present one', () => {
    const ahead = countMany('[]', LIMIT, 500 * MINUTE);
    assert.equal(mayAttempt(ahead, 3 * MINUTE), false);
    assert.equal(countAttempt('[[500,4],[501,1]]', 3 * MINUTE), '[[3,6]]');
  });

  it('sorts minutes', () => {
    assert.equal(countAttempt('[[5,1],[3,2],[5,1]]', 6 * MINUTE), '[[3,2],[5,2],[6,1]]');
    assert.equal(countAttempt('[[5,2],[1,1]]', 65 * MINUTE), '[[5,2],[65,1]]');
  });

  it('counts damaged text as no attempts', () => {
    const damaged = [
      '',
      '{}',
      'null',
      '[[1]]',
      '[[1,2,3]]',
      '[[1,"600"]]',
      '[[-1,600]]',
      '[[0.5,600]]',
      '[[0,600',
    ];
    for (const text of damaged) {
      assert.equal(mayAttempt(text, 0), true, text);
      assert.equal(countAttempt(text, 0), '[[0,1]]', text);
    }
  });

  it('never has more than the limit in any 60 minutes, and stays small', () => {
    const steps = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 20 * MINUTE }), fc.integer({ min: 1, max: 300 })),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(steps, (bursts) => {
        let text = '[]';
        let now = 1_700_000_000_000;
        const made: number[] = [];
        for (const [pause, wanted] of bursts) {
          now += pause;
          for (let asked = 0; asked < wanted && mayAttempt(text, now); asked++) {
            text = countMany(text, 1, now);
            made.push(now);
          }
        }
        assert.ok((JSON.parse(text) as unknown[]).length <= 61);
        made.forEach((at, index) => {
          const before = made[index - LIMIT];
          assert.ok(before === undefined || at - before > HOUR);
        });
      }),
      { numRuns: 30 },
    );
  });

  it('is at zero after an hour without attempts', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(HOUR), { maxLength: 700 }), (times) => {
        let text = '[]';
        for (const at of times.toSorted((a, b) => a - b)) text = countAttempt(text, at) ?? text;
        assert.equal(countAttempt(text, 2 * HOUR + MINUTE), '[[121,1]]');
      }),
      { numRuns: 20 },
    );
  });
});
