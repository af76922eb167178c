import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomPool } from './seal.ts';

/** Ascending numbers, so that octets which are given twice are seen. */
function counting(): { random: (bytes: number) => Uint8Array; draws: number[] } {
  const draws: number[] = [];
  let next = 0;
  return {
    draws,
    random(bytes) {
      draws.push(bytes);
      return Uint8Array.from(new Uint16Array(bytes).map(() => next++ % 251));
    },
  };
}

test('no octet is given twice, within a draw and across draws', () => {
  const { random, draws } = counting();
  const take = randomPool(random);
  const given = Array.from({ length: 342 }, () => take(12));
  assert.deepEqual(draws, [4096, 4096]);
  for (const [i, octets] of given.slice(0, 341).entries()) {
    assert.deepEqual(
      [...octets],
      Array.from({ length: 12 }, (_, j) => (i * 12 + j) % 251),
    );
  }
  // Four octets of the first draw are left and too few.
  assert.deepEqual(
    [...given[341]!],
    Array.from({ length: 12 }, (_, j) => (4096 + j) % 251),
  );
});

test('a draw is given whole, and more than a draw comes from the source', () => {
  const { random, draws } = counting();
  const take = randomPool(random);
  assert.equal(take(4096).length, 4096);
  assert.equal(take(4097).length, 4097);
  assert.deepEqual(draws, [4096, 4097]);
});
