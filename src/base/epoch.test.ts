import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSuccessor, nextEpoch } from './ids.ts';

const ID = '2f1c8a50-6d7e-4b1d-9c64-0a6b8f5b7c11';

describe('the epoch of a log', () => {
  it('has successors in the order of time, also with a clock that was set back', () => {
    const first = nextEpoch(ID, 1_000);
    assert.equal(first, `${ID}.1000`);
    const [later, earlierClock] = [nextEpoch(first, 2_000), nextEpoch(first, 10)];
    assert.equal(later, `${ID}.2000`);
    for (const next of [later, earlierClock]) {
      assert.ok(isSuccessor(next, first));
      assert.ok(isSuccessor(next, ID));
      assert.ok(!isSuccessor(first, next));
      assert.ok(!isSuccessor(ID, next));
    }
    assert.ok(!isSuccessor(first, first));
  });

  it('has another successor each time behind a fast clock: two copies of a database do not get the same one', () => {
    const fast = nextEpoch(ID, 1_000_000);
    const found = new Set(Array.from({ length: 20 }, () => nextEpoch(fast, 10)));
    assert.ok(found.size > 15);
    for (const next of found) assert.ok(isSuccessor(next, fast));
  });

  it('of another database is no successor', () => {
    for (const other of ['other', 'other.2000', `${ID}x.2000`, `x.${ID}`, '']) {
      assert.ok(!isSuccessor(other, ID), other);
      assert.ok(!isSuccessor(ID, other), other);
    }
    // Not of the form that this release writes.
    for (const odd of [`${ID}.`, `${ID}.-1`, `${ID}.1.2`, `${ID}.99999999999999999999`]) {
      assert.ok(!isSuccessor(odd, ID), odd);
    }
  });
});
