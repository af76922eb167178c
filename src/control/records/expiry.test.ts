import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleepUntil } from './expiry.ts';

// Sweeping itself is part of the store's conformance suite, which runs on both engines.
describe('sleep between sweeps', () => {
  const table: readonly (readonly [due: number | null, now: number, sleep: number | null])[] = [
    [null, 1_000, null],
    [1_000, 1_000, 5],
    [900, 1_000, 5],
    [1_005, 1_000, 5],
    [1_006, 1_000, 6],
    [61_000, 1_000, 60_000],
  ];
  for (const [due, now, sleep] of table) {
    it(`due ${due} at ${now}: ${sleep} ms`, () => assert.equal(sleepUntil(due, now), sleep));
  }
});
