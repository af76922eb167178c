/**
 * 10,000 seeds of the simulation of the feed, in two processes. Exit code 1 when a seed fails, or when a path is never reached.
 * `node test/ci/simulation.ts [SEEDS]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createCounters } from '../simulation/counters.ts';
import { REACHED } from '../simulation/reached.ts';
import { simulateSeeds } from '../simulation/seeds.ts';

/** Seeds that one process runs before it asks for more. */
interface Slice {
  readonly first: number;
  readonly last: number;
}

interface Result {
  readonly failures: readonly { readonly seed: number; readonly message: string }[];
  readonly counts: readonly (readonly [string, number])[];
}

/** Not a reason to fail: the machine may be busy. */
const SECONDS_WANTED = 180;
/**
 * Failed calls of the simulated broker are errors by the million; a stack is seen with `run.ts --seed N --trace`. Nearly all memory is
 * free again after a seed.
 */
const FLAGS = ['--stack-trace-limit=0', '--max-semi-space-size=32'];
const PROCESSES = 2;
const SLICE = 100;

if (process.send === undefined) await runAll(Number(process.argv[2] ?? '10000'));
else process.on('message', (slice) => void runSlice(slice as Slice));

async function runSlice({ first, last }: Slice): Promise<void> {
  const { failures, counters } = await simulateSeeds(first, last);
  const result: Result = {
    failures: failures.map(({ seed, error }) => ({ seed, message: String(error) })),
    counts: [...counters.all()],
  };
  process.send?.(result);
}

async function runAll(seeds: number): Promise<void> {
  const began = performance.now();
  const slices = slicesOf(seeds);
  const results = (await Promise.all(Array.from({ length: PROCESSES }, () => runSlices(slices)))).flat();
  const seconds = (performance.now() - began) / 1_000;
  const counters = createCounters();
  for (const { counts } of results) for (const [what, times] of counts) counters.count(what, times);
  for (const [what, times] of [...counters.all()].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    print(`${`${times}`.padStart(10)} ${what}`);
  const failures = results.flatMap((result) => result.failures).toSorted((a, b) => a.seed - b.seed);
  for (const { seed, message } of failures) print(`seed ${seed}: ${message}`);
  const missing = REACHED.filter((what) => !counters.all().has(what));
  if (missing.length > 0) print(`never reached: ${missing.join(', ')}`);
  print(`${seeds} seeds in ${seconds.toFixed(1)} s, ${failures.length} failed`);
  if (seconds > SECONDS_WANTED) print(`more than the ${SECONDS_WANTED} s that two quiet cores need`);
  process.exitCode = failures.length > 0 || missing.length > 0 ? 1 : 0;
}

function slicesOf(seeds: number): Iterator<Slice, undefined> {
  const slices = Array.from({ length: Math.ceil(seeds / SLICE) }, (_, i) => ({
    first: i * SLICE + 1,
    last: Math.min(seeds, (i + 1) * SLICE),
  }));
  return slices.values() as Iterator<Slice, undefined>;
}

/** One process takes the next slice whenever it has ended one, until there are no more. */
async function runSlices(slices: Iterator<Slice, undefined>): Promise<readonly Result[]> {
  const child = fork(fileURLToPath(import.meta.url), { execArgv: FLAGS });
  const results: Result[] = [];
  for (let next = slices.next(); next.done !== true; next = slices.next())
    results.push(await answerTo(child, next.value));
  child.disconnect();
  return results;
}

function answerTo(child: ChildProcess, slice: Slice): Promise<Result> {
  return new Promise((resolve, reject) => {
    const died = (code: number | null): void => {
      reject(new Error(`seeds ${slice.first}-${slice.last}: the process ended with ${code}`));
    };
    child.once('exit', died);
    child.once('message', (result) => {
      child.off('exit', died);
      resolve(result as Result);
    });
    child.send(slice);
  });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
