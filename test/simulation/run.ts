/**
 * Runs seeds of the simulation.
 *
 *   run.ts --seed N [--only 0,3,17] [--trace]    one seed, or some steps of its storm, with what happens and when
 *   run.ts --seeds 1-500                         many, on all cores, with how often each fault and each path was reached
 *   run.ts --minutes 10 [--totals FILE]          new ones; with FILE the sums of several runs
 *   run.ts --fault NAME [--seeds 1-200]          with a fault of planted-faults.ts, by the seed that found it last, else by the first that does
 *
 * `--small`: with the small limits that every second process of the last but one has. `--jobs N`: processes. `--with failsOver`: of many
 * seeds only those that have it; any member of `Shape` will do, and several of them.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { plantedEnvironment } from '../../scripts/plant.ts';
import { PLANTED_FAULTS } from './planted-faults.ts';
import { findPlanted } from './planted-search.ts';
import { REACHED } from './reached.ts';
import { type FailedSeed, NEW_BELOW, type RunResult, runSeeds, shortestOf } from './runner.ts';
import { simulateSeeds } from './seeds.ts';
import { type Shape, shapeOf } from './shape.ts';
import { SMALL_LIMITS } from './small-limits.ts';
import { openTotals } from './totals.ts';

const ME = fileURLToPath(import.meta.url);
/** No storm has more. */
const STEPS_MAX = 64;
/** Failures that are made short: each takes some seconds. */
const SHORTENED = 3;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    only: { type: 'string' },
    seeds: { type: 'string' },
    minutes: { type: 'string' },
    totals: { type: 'string' },
    fault: { type: 'string' },
    with: { type: 'string', multiple: true, default: [] },
    small: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const fault = values.fault === undefined ? null : (PLANTED_FAULTS[values.fault] ?? undefined);
const isMember = (name: string): name is keyof Shape => name in shapeOf(0);
const unknown = values.with.find((name) => !isMember(name));
if (unknown !== undefined) {
  process.stderr.write(`no seed has ${unknown}; there are: ${Object.keys(shapeOf(0)).join(', ')}\n`);
  process.exitCode = 2;
} else if (fault === undefined) {
  process.stderr.write(`no such fault; there are: ${Object.keys(PLANTED_FAULTS).join(', ')}\n`);
  process.exitCode = 2;
} else if (values.seed !== undefined) process.exitCode = await one(Number(values.seed));
else process.exitCode = fault === null ? await many() : await find(values.fault!);

/** One seed in this process, or in one that has the fault and the small limits. */
async function one(seed: number): Promise<number> {
  const texts = [...(fault == null ? [] : [fault]), ...(values.small ? SMALL_LIMITS : [])];
  if (texts.length > 0 && process.env.PLANTED === undefined) {
    const env = { ...process.env, ...plantedEnvironment(...texts) };
    return spawnSync(process.execPath, [ME, ...process.argv.slice(2)], { env, stdio: 'inherit' }).status ?? 1;
  }
  const only = values.only === undefined ? null : values.only.split(',').map(Number);
  const trace = values.trace ? { trace: print } : {};
  const { failures, counters } = await simulateSeeds(seed, seed, { only, ...trace });
  if (!values.trace) printCounts(counters.all());
  for (const { error } of failures) print(`seed ${seed}: ${(error as Error).stack}`);
  print(`seed ${seed}: ${failures.length === 0 ? 'passed' : 'failed'}`);
  return failures.length;
}

async function many(): Promise<number> {
  const began = performance.now();
  const minutes = values.minutes === undefined ? null : Number(values.minutes);
  const start = randomInt(NEW_BELOW);
  const [first, last = first] =
    minutes === null ? (values.seeds ?? '1-100').split('-').map(Number) : [start, Number.MAX_SAFE_INTEGER];
  const members = values.with.filter(isMember);
  const totals = values.totals === undefined ? null : openTotals(values.totals, Date.now);
  let sliceBegan = began;
  const result = await runSeeds({
    first: first!,
    last: last!,
    processes: Number(values.jobs),
    ...(members.length > 0 && {
      isChosen: (seed: number) => members.every((member) => Boolean(shapeOf(seed)[member])),
    }),
    small: values.small ? 'all' : minutes === null ? 'none' : 'every second',
    isOver: () => minutes !== null && performance.now() - began > minutes * 60_000,
    onSlice(slice) {
      totals?.add(slice, performance.now() - sliceBegan);
      sliceBegan = performance.now();
      for (const each of slice.failures) print(lineOf(each));
    },
  });
  print(`from seed ${first}`);
  const failed = await report(result, began);
  if (totals !== null) {
    const { since, seeds, simulatedHours, failures } = totals.totals;
    print(
      `since ${since}: ${seeds} seeds, ${simulatedHours.toFixed(0)} simulated hours, ${failures.length} failed`,
    );
  }
  return failed;
}

async function find(name: string): Promise<number> {
  const [first, last = first] = values.seeds?.split('-').map(Number) ?? [];
  const found = await findPlanted(name, first === undefined ? null : [first, last!]);
  if (found !== null) await printShortest(found);
  print(
    found === null
      ? `${name}: not found`
      : `${name}: found by seed ${found.seed}${found.isRight ? '' : ', by another message than it should be'}`,
  );
  return found?.isRight ? 0 : 1;
}

/** @returns how many failed */
async function report({ seeds, failures, counters }: RunResult, began: number): Promise<number> {
  printCounts(counters.all());
  for (const each of failures.slice(0, SHORTENED)) await printShortest(each);
  const hours = (counters.all().get('simulated ms') ?? 0) / 3_600_000;
  const missing = REACHED.filter((what) => (counters.all().get(what) ?? 0) === 0);
  if (missing.length > 0) print(`never reached: ${missing.join(', ')}`);
  const seconds = (performance.now() - began) / 1_000;
  print(
    `${seeds} seeds, ${hours.toFixed(1)} simulated hours, ${seconds.toFixed(1)} s, ${failures.length} failed`,
  );
  return failures.length;
}

async function printShortest(failed: FailedSeed): Promise<void> {
  const left = await shortestOf(failed, STEPS_MAX, fault ?? null);
  print(`${lineOf(failed)}\n  fails with ${left.length} steps of its storm:`);
  print(`  ${commandOf(failed)} --only ${left.join(',')} --trace`);
}

function commandOf({ seed, small }: FailedSeed): string {
  const planted = values.fault === undefined ? '' : ` --fault ${values.fault}`;
  return `node test/simulation/run.ts --seed ${seed}${planted}${small ? ' --small' : ''}`;
}

function lineOf({ seed, message, small }: FailedSeed): string {
  return `seed ${seed}${small ? ' with small limits' : ''}: ${message}`;
}

function printCounts(counts: ReadonlyMap<string, number>): void {
  for (const [what, times] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    print(`${`${times}`.padStart(12)} ${what}`);
}
