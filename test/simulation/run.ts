/** Runs seeds of the simulation: `node test/simulation/run.ts --seed N [--trace]`, or `--seeds FIRST-LAST`, each also with `--fault NAME`. */
import { parseArgs } from 'node:util';
import { MENDED_FAULTS, type MendedFault } from './mended-faults.ts';
import { simulateSeeds } from './seeds.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    fault: { type: 'string' },
    trace: { type: 'boolean' },
  },
});
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const [first, last = first] = (values.seed ?? values.seeds ?? '1-100').split('-').map(Number);
const names = Object.keys(MENDED_FAULTS) as MendedFault[];
const fault = names.find((name) => name === values.fault) ?? null;
if (
  !Number.isSafeInteger(first) ||
  !Number.isSafeInteger(last) ||
  (values.fault !== undefined && fault === null)
) {
  process.stderr.write(
    `usage: run.ts --seed N [--trace] | --seeds FIRST-LAST, with --fault ${names.join(' | ')}\n`,
  );
  process.exit(2);
}

const began = performance.now();
const { failures, counters } = await simulateSeeds(first!, last!, {
  fault,
  ...(values.trace === true ? { trace: print } : {}),
});
for (const [what, times] of [...counters.all()].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  print(`${`${times}`.padStart(9)} ${what}`);
for (const { seed, error } of failures) {
  print(
    `seed ${seed}: ${error instanceof Error && values.trace !== true ? error.message : String((error as Error).stack)}`,
  );
}
const seconds = (performance.now() - began) / 1_000;
print(`${last! - first! + 1} seeds, ${seconds.toFixed(1)} s, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
