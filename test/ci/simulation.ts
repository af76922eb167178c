/**
 * Seeds of the simulation, in two processes, one of them with small limits. Exit code 1 when a seed fails, or when a path is never reached.
 * `node test/ci/simulation.ts [SEEDS [FIRST | new]]`. The same seeds each time, until new ones have run for a day without a failure
 * (docs/SIMULATION.md).
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { REACHED } from '../simulation/reached.ts';
import { NEW_BELOW, runSeeds } from '../simulation/runner.ts';

const RUN = fileURLToPath(new URL('../simulation/run.ts', import.meta.url));
const [, , count = '480', from = '166'] = process.argv;
const SEEDS = Number(count);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const first = from === 'new' ? randomInt(NEW_BELOW) : Number(from);
const began = performance.now();
// Which seeds have small limits does not depend on which process is faster.
const half = first + Math.ceil(SEEDS / 2);
const [plain, small] = await Promise.all([
  runSeeds({ first, last: half - 1, processes: 1, small: 'none' }),
  runSeeds({ first: half, last: first + SEEDS - 1, processes: 1, small: 'all' }),
]);
const seeds = plain.seeds + small.seeds;
const failures = [...plain.failures, ...small.failures];
const { counters } = plain;
for (const [what, times] of small.counters.all()) counters.count(what, times);
for (const [what, times] of [...counters.all()].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  print(`${`${times}`.padStart(12)} ${what}`);
for (const { seed, message, small } of failures) print(`seed ${seed}${small ? ' --small' : ''}: ${message}`);
const missing = REACHED.filter((what) => (counters.all().get(what) ?? 0) === 0);
if (missing.length > 0) print(`never reached: ${missing.join(', ')}`);
print(
  `${seeds} seeds from ${first} on in ${((performance.now() - began) / 1_000).toFixed(1)} s, ${failures.length} failed`,
);
const [failed] = failures;
if (failed !== undefined) {
  const options = ['--seed', String(failed.seed), '--trace', ...(failed.small ? ['--small'] : [])];
  spawnSync(process.execPath, [RUN, ...options], { stdio: 'inherit' });
}
process.exitCode = failures.length > 0 || missing.length > 0 ? 1 : 0;
