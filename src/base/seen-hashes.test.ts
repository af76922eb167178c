import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeenHashes } from './hashes.ts';

const PLACES = 64;
const WAYS = 8;
/** Hashes of one bucket: equal in their low bits. */
const inOneBucket = Array.from({ length: WAYS + 1 }, (_, i) => 3 + i * PLACES);

test('eight hashes of one bucket are all remembered; the ninth replaces the first', () => {
  const seen = new SeenHashes(PLACES);
  for (const hash of inOneBucket.slice(0, WAYS)) assert.equal(seen.again(hash), false);
  for (const hash of inOneBucket.slice(0, WAYS)) assert.equal(seen.again(hash), true);
  assert.equal(seen.again(inOneBucket[WAYS]!), false);
  for (const hash of inOneBucket.slice(1)) assert.equal(seen.again(hash), true);
  assert.equal(seen.again(inOneBucket[0]!), false);
});

test('the largest hash of 32 bits is remembered', () => {
  const seen = new SeenHashes(PLACES);
  assert.equal(seen.again(0xffff_ffff), false);
  assert.equal(seen.again(0xffff_ffff), true);
});
