import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plantedEnvironment } from '../../scripts/plant.ts';
import { PLANTED_FAULTS } from './planted-faults.ts';
import { findPlanted } from './planted-search.ts';
import { NEW_BELOW, runSeeds, shortestOf } from './runner.ts';
import { simulateSeeds } from './seeds.ts';
import { SMALL_LIMITS } from './small-limits.ts';

/** Continuous integration runs more (`test/ci/simulation.ts`), and requires that each path is reached. */
const SEEDS = 40;
/** That nobody has run: a failure is a fault to find, of the product or of the world (docs/SIMULATION.md). */
const NEW_SEEDS = 10;
/** Continuous integration plants all (`test/ci/planted.ts`). */
const PLANTED = ['usage-added-twice', 'append-without-sequence'];

const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

describe('the feed in a simulation', () => {
  it(`keeps every invariant for ${SEEDS + NEW_SEEDS} seeds`, async () => {
    const first = randomInt(NEW_BELOW);
    const known = await simulateSeeds(1, SEEDS);
    const others = await simulateSeeds(first, first + NEW_SEEDS - 1);
    const [failed] = [...known.failures, ...others.failures];
    if (failed === undefined) return;
    const command = `node test/simulation/run.ts --seed ${failed.seed} --trace`;
    throw new Error(`seed ${failed.seed}; it fails again by: ${command}`, { cause: failed.error });
  });

  it('gives the same run for the same seed, which a failure is shown by, whatever ran before it', async () => {
    // One plain, one whole, and one that the first look at a new file had changed.
    for (const seed of [4, 100, 13]) {
      const one: string[] = [];
      await simulateSeeds(seed, seed, { trace: (text) => one.push(text) });
      const { stdout } = spawnSync(process.execPath, [RUN, '--seed', String(seed), '--trace'], {
        encoding: 'utf8',
      });
      const other = stdout.split('\n');
      assert.equal(other.at(-2), `seed ${seed}: passed`);
      assert.ok(one.length > 10);
      assert.deepEqual(other.slice(0, -2), one);
    }
  });

  for (const name of PLANTED) {
    const fault = PLANTED_FAULTS[name]!;
    it(`finds the planted fault "${name}", and a run of few steps that shows it`, async () => {
      const found = await findPlanted(name);
      assert.match(found?.message ?? 'not found', fault.finds);
      const steps = await shortestOf(found!, 64, fault);
      assert.ok(steps.length < 20, steps.join());
    });
  }

  it('has the text of each planted fault and small limit in its file, once', () => {
    for (const text of Object.values(PLANTED_FAULTS)) plantedEnvironment(text);
    plantedEnvironment(...SMALL_LIMITS);
  });

  it('says that a planted text is in no file that was loaded', async () => {
    const fault = { file: 'src/cli.ts', from: "'use strict'", to: '' };
    await assert.rejects(runSeeds({ first: 1, last: 1, processes: 1, fault }), /does not hold/);
    const never = { file: 'scripts/docs.ts', from: 'if (import.meta.main)', to: 'if (false)' };
    await assert.rejects(
      runSeeds({ first: 1, last: 1, processes: 1, fault: never }),
      /never loaded: scripts/,
    );
  });
});
