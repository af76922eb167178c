import { microsOf, ratioOf, type Samples } from './compare.ts';
import { median, type Spread } from './figures.ts';
import type { World } from './world.ts';

/** One line of the table: a cost of ours compared with another one of the same run. */
export interface Row {
  readonly part: string;
  readonly what: string;
  readonly peer: string;
  /** Medians of CPU microseconds per answered query. */
  readonly micros: number;
  readonly peerMicros: number;
  readonly ratio: Spread;
  /** Greatest ratio allowed; null: shown, and nothing is asked. */
  readonly target: number | null;
  /** Of the packet cache of ours: null where not counted. */
  readonly hits: number | null;
  /** Cores that the load generator took while ours was measured. */
  readonly generator: number;
}

export interface Part {
  readonly name: string;
  readonly run: (world: World) => Promise<readonly Row[]>;
}

/** A line for each peer that took part. */
export function rowsOf(
  { part, what, ours = 'uqrp' }: { readonly part: string; readonly what: string; readonly ours?: string },
  samples: Samples,
  targets: Readonly<Record<string, number | null>>,
): readonly Row[] {
  const own = samples.get(ours)!;
  return Object.entries(targets)
    .filter(([peer]) => samples.has(peer))
    .map(([peer, target]) => ({
      part,
      what,
      peer,
      micros: median(microsOf(samples, ours)),
      peerMicros: median(microsOf(samples, peer)),
      ratio: ratioOf(samples, ours, peer),
      target,
      hits: own.some(({ hits }) => hits === null) ? null : median(own.map(({ hits }) => hits!)),
      generator: median(own.map(({ generator }) => generator)),
    }));
}
