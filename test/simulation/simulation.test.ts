import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvariantError } from './invariants.ts';
import { MENDED_FAULTS } from './mended-faults.ts';
import { REACHED } from './reached.ts';
import { simulateSeeds } from './seeds.ts';

/** Continuous integration runs 10,000 (`test/ci/simulation.ts`). */
const SEEDS = 60;

describe('the feed in a simulation', () => {
  it(`keeps every invariant for ${SEEDS} seeds, and each path is reached`, async () => {
    const { failures, counters } = await simulateSeeds(1, SEEDS);
    const [failed] = failures;
    if (failed !== undefined) throw new Error(`seed ${failed.seed}`, { cause: failed.error });
    const missing = REACHED.filter((what) => !counters.all().has(what));
    assert.deepEqual(missing, [], 'never reached');
  });

  it('gives the same run for the same seed', async () => {
    const [one, other]: [string[], string[]] = [[], []];
    // One plain and one whole.
    for (const seed of [4, 100]) await simulateSeeds(seed, seed, { trace: (text) => one.push(text) });
    for (const seed of [4, 100]) await simulateSeeds(seed, seed, { trace: (text) => other.push(text) });
    assert.ok(one.length > 20);
    assert.deepEqual(one, other);
  });

  for (const [fault, { first, seeds, finds }] of Object.entries(MENDED_FAULTS)) {
    it(`finds the mended fault "${fault}" within ${seeds} seeds`, async () => {
      const { failures } = await simulateSeeds(first, first + seeds - 1, {
        fault: fault as never,
        failuresMax: 1,
      });
      const [found] = failures;
      assert.ok(found?.error instanceof InvariantError, String(found?.error));
      assert.match(found.error.message, finds);
    });
  }
});
