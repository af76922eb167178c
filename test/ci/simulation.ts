/**
 * Seeds of the simulation, in two processes, one of them with small limits: the same ones each time, and then a fourth as many that nobody has run.
 * Exit code 1 when a seed fails, or when a path is never reached.
 * `node test/ci/simulation.ts [SEEDS [FIRST | new]]`; `new`: all of them are new ones.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createCounters } from '../simulation/counters.ts';
import { REACHED } from '../simulation/reached.ts';
import { NEW_BELOW, type RunResult, runSeeds } from '../simulation/runner.ts';

const RUN = fileURLToPath(new URL('../simulation/run.ts', import.meta.url));
const [, , count = '480', from = '166'] = process.argv;
const SEEDS = Number(count);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const unknown = randomInt(NEW_BELOW);
const began = performance.now();
const results =
  from === 'new'
    ? await bothLimits(unknown, SEEDS)
    : [...(await bothLimits(Number(from), SEEDS)), ...(await bothLimits(unknown, Math.ceil(SEEDS / 4)))];
const seeds = results.reduce((sum, result) => sum + result.seeds, 0);
const failures = results.flatMap((result) => result.failures);
const counters = createCounters();
for (const result of results) for (const [what, times] of result.counters.all()) counters.count(what, times);
for (const [what, times] of [...counters.all()].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  print(`${`${times}`.padStart(12)} ${what}`);
for (const { seed, message, small } of failures) print(`seed ${seed}${small ? ' --small' : ''}: ${message}`);
const missing = REACHED.filter((what) => (counters.all().get(what) ?? 0) === 0);
if (missing.length > 0) print(`never reached: ${missing.join(', ')}`);
print(
  `${seeds} seeds, new ones from ${unknown} on, in ${((performance.now() - began) / 1_000).toFixed(1)} s, ${failures.length} failed`,
);
const [failed] = failures;
if (failed !== undefined) {
  const options = ['--seed', String(failed.seed), '--trace', ...(failed.small ? ['--small'] : [])];
  spawnSync(process.execPath, [RUN, ...options], { stdio: 'inherit' });
}
process.exitCode = failures.length > 0 || missing.length > 0 ? 1 : 0;

/** Which seeds have small limits does not depend on which process is faster. */
function bothLimits(first: number, count: number): Promise<RunResult[]> {
  const half = first + Math.ceil(count / 2);
  return Promise.all([
    runSeeds({ first, last: half - 1, processes: 1, small: 'none' }),
    runSeeds({ first: half, last: first + count - 1, processes: 1, small: 'all' }),
  ]);
}
