import { type Counters, createCounters } from './counters.ts';
import { simulate } from './simulate.ts';

export interface Failure {
  readonly seed: number;
  readonly error: unknown;
}

export interface SeedsOptions {
  readonly only?: readonly number[] | null;
  readonly trace?: (text: string) => void;
  /** Ends the run. */
  readonly failuresMax?: number;
}

/** Failures beyond this say no more. */
const FAILURES_MAX = 20;

/** Runs one seed after the other in this process. */
export async function simulateSeeds(
  first: number,
  last: number,
  { only = null, trace = () => {}, failuresMax = FAILURES_MAX }: SeedsOptions = {},
): Promise<{ readonly failures: readonly Failure[]; readonly counters: Counters }> {
  const counters = createCounters();
  const failures: Failure[] = [];
  for (let seed = first; seed <= last && failures.length < failuresMax; seed++) {
    try {
      await simulate({ seed, only, trace, counters });
    } catch (error) {
      failures.push({ seed, error });
    }
  }
  return { failures, counters };
}
