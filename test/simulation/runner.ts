/** Runs seeds in processes of their own, with or without a planted fault, and finds the shortest run that still fails. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type PlantedText, plantedAbsent, plantedEnvironment } from '../../scripts/plant.ts';
import { type Counters, createCounters } from './counters.ts';
import { SMALL_LIMITS } from './small-limits.ts';

export interface RunOptions {
  readonly first: number;
  /** Without one, until `isOver` says so. */
  readonly last?: number;
  /** Of these; else all. */
  readonly isChosen?: (seed: number) => boolean;
  readonly processes: number;
  readonly fault?: PlantedText | null;
  /** Which processes have small limits, so that what is rare with the product's is common. */
  readonly small?: 'all' | 'every second' | 'none';
  readonly failuresMax?: number;
  /** Asked before each slice. */
  readonly isOver?: () => boolean;
  /** After each slice. */
  readonly onSlice?: (result: SliceResult) => void;
}

export interface FailedSeed {
  readonly seed: number;
  readonly message: string;
  /** The process had small limits. */
  readonly small: boolean;
}

export interface SliceResult {
  readonly seeds: number;
  readonly failures: readonly FailedSeed[];
  readonly counts: readonly (readonly [string, number])[];
}

export interface RunResult {
  readonly seeds: number;
  readonly failures: readonly FailedSeed[];
  readonly counters: Counters;
}

interface Slice {
  readonly seeds: readonly number[];
  readonly only: readonly number[] | null;
}

/** What a process tells: before each seed its number, after it how it ended. */
interface Told {
  readonly seed: number;
  readonly ended?: { readonly message: string | null; readonly counts: SliceResult['counts'] };
}

/**
 * Failed calls of the simulated broker are errors by the million; a stack is seen with `run.ts --seed N --trace`. Nearly all memory is
 * free again after a seed.
 */
const FLAGS = ['--stack-trace-limit=0', '--max-semi-space-size=32'];
const SLICE = 50;
/** Of one process. Each leaves some 0.3 MB behind: after 15,000 it has 8 GB, and runs at half the speed. The first 300 are slower too. */
const SEEDS_MAX = 3_000;
/** A seed that takes so long stands still: most take less than a tenth of a second, and a minute where other work has the cores. */
const STILL_MS = 600_000;
const FAILURES_MAX = 20;
/** New seeds begin below it: of a seed only 32 bits count. */
export const NEW_BELOW = 2 ** 31;

const isChild = process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url);
if (isChild) {
  process.on('message', (slice) => void runHere(slice as Slice));
  // Its folder goes with it.
  process.once('SIGTERM', () => process.exit());
  // Nobody waits for what is left of the slice.
  process.once('disconnect', () => process.exit());
}

async function runHere({ seeds, only }: Slice): Promise<void> {
  const { simulateSeeds } = await import('./seeds.ts');
  const tell = (told: Told): void => void process.send?.(told);
  for (const seed of seeds) {
    tell({ seed });
    const { failures, counters } = await simulateSeeds(seed, seed, { only });
    const [absent] = plantedAbsent();
    const [failure] = failures;
    const message = failure === undefined ? null : String(failure.error).replace(/^InvariantError: /, '');
    const ended = {
      message: absent === undefined ? message : `never loaded: ${absent}`,
      counts: [...counters.all()],
    };
    tell({ seed, ended });
  }
}

/** @throws Error when a planted text is not in its file, or its file is never loaded */
export async function runSeeds(options: RunOptions): Promise<RunResult> {
  const { last = Number.POSITIVE_INFINITY, isChosen = () => true, isOver = () => false } = options;
  const { failuresMax = FAILURES_MAX } = options;
  const counters = createCounters();
  const failures: FailedSeed[] = [];
  let seeds = 0;
  let next = options.first;
  const worker = async (_: unknown, index: number): Promise<void> => {
    const small = options.small === 'all' || (options.small === 'every second' && index % 2 === 1);
    const child = createChild(options.fault ?? null, small);
    try {
      while (next <= last && failures.length < failuresMax && !isOver()) {
        const slice: number[] = [];
        for (; next <= last && slice.length < SLICE; next++) if (isChosen(next)) slice.push(next);
        const result = await child.run({ seeds: slice, only: null }, failuresMax);
        failures.push(...result.failures);
        seeds += result.seeds;
        for (const [what, times] of result.counts) counters.count(what, times);
        options.onSlice?.(result);
      }
    } finally {
      child.end();
    }
  };
  await Promise.all(Array.from({ length: options.processes }, worker));
  return { seeds, failures: failures.toSorted((a, b) => a.seed - b.seed), counters };
}

interface Child {
  run(slice: Slice, failuresMax: number): Promise<SliceResult>;
  end(): void;
}

/** A process for seeds. After a seed that killed it, or in which it stood still, or after `SEEDS_MAX`, another one goes on. */
function createChild(fault: PlantedText | null, small: boolean): Child {
  const texts = [...(fault === null ? [] : [fault]), ...(small ? SMALL_LIMITS : [])];
  const env = { ...process.env, ...(texts.length === 0 ? {} : plantedEnvironment(...texts)) };
  let child: ChildProcess | null = null;
  let ran = 0;

  function end(): void {
    child?.kill();
    child = null;
    ran = 0;
  }

  /** @returns the seeds that were not run */
  function runPart(
    slice: Slice,
    failuresMax: number,
    result: { -readonly [K in keyof SliceResult]: SliceResult[K] },
  ): Promise<readonly number[]> {
    child ??= fork(fileURLToPath(import.meta.url), { execArgv: FLAGS, env });
    const one = child;
    return new Promise((resolve, reject) => {
      let at = 0;
      let timer: NodeJS.Timeout | undefined;
      const done = (ran: number): void => {
        clearTimeout(timer);
        one.removeAllListeners();
        resolve(slice.seeds.slice(ran));
      };
      const fail = (message: string): void => {
        result.failures = [...result.failures, { seed: slice.seeds[at]!, message, small }];
      };
      const died = (how: string): void => {
        one.kill('SIGKILL');
        end();
        result.seeds++;
        fail(how);
        done(at + 1);
      };
      const watch = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => died(`stood still for ${STILL_MS / 1_000} s`), STILL_MS);
      };
      watch();
      one.once('exit', (code, signal) => died(`the process ended with ${signal ?? code}`));
      one.on('message', (message) => {
        const { seed, ended } = message as Told;
        at = slice.seeds.indexOf(seed);
        watch();
        if (ended === undefined) return;
        if (ended.message?.startsWith('never loaded') === true) {
          clearTimeout(timer);
          one.removeAllListeners();
          reject(new Error(ended.message));
          return;
        }
        result.seeds++;
        ran++;
        result.counts = [...result.counts, ...ended.counts];
        if (ended.message !== null) fail(ended.message);
        const isLast = at === slice.seeds.length - 1;
        if (!isLast && result.failures.length < failuresMax) return;
        if (!isLast) end();
        done(slice.seeds.length);
      });
      one.send(slice);
    });
  }

  return {
    async run(slice, failuresMax) {
      const result = { seeds: 0, failures: [], counts: [] };
      for (let { seeds } = slice; seeds.length > 0 && result.failures.length < failuresMax; )
        seeds = await runPart({ ...slice, seeds }, failuresMax, result);
      if (ran >= SEEDS_MAX) end();
      return result;
    },
    end,
  };
}

/** Two failures with the same cause differ in numbers and names. */
const kindOf = (message: string): string => message.replaceAll(/\d+/g, '#').slice(0, 24);
/** Runs of one seed, at most. */
const TRIES = 150;

/**
 * The fewest steps of the storm with which the seed still fails in the same way: first the end is cut off, then ever smaller parts.
 * @param steps how many the storm has
 */
export async function shortestOf(
  { seed, message, small }: FailedSeed,
  steps: number,
  fault: (PlantedText & { readonly finds?: RegExp }) | null,
): Promise<readonly number[]> {
  // What is planted may be seen in several ways.
  const isSame = (text: string): boolean => fault?.finds?.test(text) ?? kindOf(text) === kindOf(message);
  const child = createChild(fault, small);
  let tries = 0;
  const fails = async (only: readonly number[]): Promise<boolean> => {
    if (++tries > TRIES) return false;
    const { failures } = await child.run({ seeds: [seed], only }, 1);
    return failures.some((failure) => isSame(failure.message));
  };
  try {
    let left: readonly number[] = Array.from({ length: steps }, (_, step) => step);
    for (let part = left.length >> 1; part > 0; part >>= 1)
      while (left.length > part && (await fails(left.slice(0, -part)))) left = left.slice(0, -part);
    for (let part = left.length >> 1; part > 0; part >>= 1)
      for (let at = 0; at < left.length; ) {
        const fewer = left.toSpliced(at, part);
        if (await fails(fewer)) left = fewer;
        else at += part;
      }
    return left;
  } finally {
    child.end();
  }
}
