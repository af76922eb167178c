import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { hitShare, readCounters } from './counters.ts';
import { cpuOf, cpuOfEndedChildren } from './cpu.ts';
import { median, print, row, type Spread, spread } from './figures.ts';
import type { Load } from './load.ts';

export interface Target {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** Kernel threads whose CPU is counted too. */
  readonly beside?: readonly number[];
  /** Port of `/metrics`, of our servers. */
  readonly metricsPort?: number;
}

/** One load of one target. */
interface Sample {
  /** CPU of the target for one answered query. */
  readonly micros: number;
  readonly perSecond: number;
  /** Of the questions that were looked up in the packet cache; null for peers. */
  readonly hits: number | null;
  readonly limited: number;
  readonly lost: number;
  /** Cores that the load generator took. */
  readonly generator: number;
}

export type Samples = ReadonlyMap<string, readonly Sample[]>;

export interface CompareOptions<T extends Target = Target> {
  readonly what: string;
  readonly rounds: number;
  /** Time for which each target is loaded before it is measured: V8 compiles what is hot in the first seconds. */
  readonly warmUpSeconds: number;
  /** Fills caches before the warm-up, with a number of queries instead of a time: on a busy machine a time may be too short. */
  readonly prime?: (target: T) => unknown;
  /** Loads a target for about the same time at each call. It must ask new names at each call where misses are measured. */
  readonly load: (target: T) => Load;
}

/**
 * After the warm-up, loads go on until no target's CPU per query changed by more than this share, and no hit rate by `STEADY_HITS`, or
 * `EXTRA_LOADS` times.
 */
const STEADY = 0.05;
const STEADY_HITS = 0.005;
const EXTRA_LOADS = 3;

/** Loads all targets in turn, in the reverse order in every other round, after a warm-up. Prints medians and their spread. */
export async function compare<T extends Target>(
  targets: readonly T[],
  options: CompareOptions<T>,
): Promise<Samples> {
  if (options.prime !== undefined) for (const target of targets) options.prime(target);
  await warmUp(targets, options);
  const samples = new Map<string, Sample[]>(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      samples.get(target.name)!.push(await sample(target, options.load));
    }
  }
  report(options.what, samples);
  return samples;
}

/** Median, least and most of the rounds' ratios of CPU per query. Samples of one round were taken one after the other. */
export function ratioOf(samples: Samples, name: string, to: string): Spread {
  const others = samples.get(to)!;
  return spread(samples.get(name)!.map(({ micros }, round) => micros / others[round]!.micros));
}

export const microsOf = (samples: Samples, name: string): number[] =>
  samples.get(name)!.map(({ micros }) => micros);

async function warmUp<T extends Target>(
  targets: readonly T[],
  { warmUpSeconds, load }: CompareOptions<T>,
): Promise<void> {
  const last = new Map<string, Sample>();
  let isSteady = false;
  for (let seconds = 0, extra = 0; seconds < warmUpSeconds || (!isSteady && extra < EXTRA_LOADS); ) {
    if (seconds >= warmUpSeconds) extra++;
    isSteady = true;
    const started = performance.now();
    for (const target of targets) {
      const now = await sample(target, load);
      if (!isLike(now, last.get(target.name))) isSteady = false;
      last.set(target.name, now);
    }
    seconds += (performance.now() - started) / 1000 / targets.length;
  }
}

const isLike = (now: Sample, before: Sample | undefined): boolean =>
  before !== undefined &&
  Math.abs(now.micros / before.micros - 1) <= STEADY &&
  Math.abs((now.hits ?? 0) - (before.hits ?? 0)) <= STEADY_HITS;

async function sample<T extends Target>(target: T, load: (target: T) => Load): Promise<Sample> {
  const counters = () => (target.metricsPort === undefined ? null : readCounters(target.metricsPort));
  const before = await counters();
  const [cpu, generator, started] = [cpuOf(target), cpuOfEndedChildren(), performance.now()];
  const { answered, lost, seconds } = load(target);
  const wall = (performance.now() - started) / 1000;
  const spent = cpuOf(target) - cpu;
  const after = await counters();
  return {
    micros: (spent / answered) * 1e6,
    perSecond: answered / seconds,
    hits: before === null || after === null ? null : hitShare(before, after),
    limited: before === null || after === null ? 0 : (after.limited - before.limited) / answered,
    lost: lost / (answered + lost),
    generator: (cpuOfEndedChildren() - generator) / wall,
  };
}

function report(what: string, samples: Samples): void {
  print('');
  print(
    row([what, 'CPU us/query', 'least', 'most', 'queries/s', 'cache hits', 'limited', 'lost', 'generator']),
  );
  for (const [name, all] of samples) {
    const { middle, least, most } = spread(all.map(({ micros }) => micros));
    const of = (value: (one: Sample) => number): number => median(all.map(value));
    const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
    const hits = all.some((one) => one.hits === null) ? '' : percent(of((one) => one.hits!));
    const rate = String(Math.round(of(({ perSecond }) => perSecond)));
    const shares = [of(({ limited }) => limited), of(({ lost }) => lost), of(({ generator }) => generator)];
    print(row([name, middle, least, most, rate, hits, ...shares.map(percent)]));
  }
}

/** @throws when the target does not answer the name within twelve seconds */
export async function waitFor(target: Target, name: string): Promise<void> {
  const args = ['@127.0.0.1', '-p', String(target.port), '+short', '+tries=1', '+time=1', 'TXT', name];
  for (let attempt = 0; attempt < 60; attempt++) {
    try {
      if (execFileSync('dig', args, { encoding: 'utf8' }).includes('v=svc1')) return;
    } catch {
      // The server does not listen yet.
    }
    await sleep(200);
  }
  throw new Error(`${target.name} does not answer`);
}
