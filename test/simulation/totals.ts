import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { FailedSeed, SliceResult } from './runner.ts';

/** What several runs have done together. */
export interface Totals {
  /** ISO dates. */
  readonly since: string;
  until: string;
  seeds: number;
  simulatedHours: number;
  /** Of all processes. */
  hours: number;
  failures: readonly FailedSeed[];
  /** How often each fault and each path was reached. */
  counts: Record<string, number>;
}

/** The file has what was there before and all slices added so far: a run that is killed loses nothing but its last slices. */
export function openTotals(
  path: string,
  now: () => number,
): { add(slice: SliceResult, ms: number): void; totals: Totals } {
  const date = (): string => new Date(now()).toISOString();
  const totals: Totals = existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as Totals)
    : { since: date(), until: date(), seeds: 0, simulatedHours: 0, hours: 0, failures: [], counts: {} };
  return {
    totals,
    add({ seeds, failures, counts }, ms) {
      totals.until = date();
      totals.seeds += seeds;
      totals.hours += ms / 3_600_000;
      totals.failures = [...totals.failures, ...failures];
      for (const [what, times] of counts) totals.counts[what] = (totals.counts[what] ?? 0) + times;
      totals.simulatedHours = (totals.counts['simulated ms'] ?? 0) / 3_600_000;
      writeFileSync(`${path}.new`, JSON.stringify(totals, null, 1));
      renameSync(`${path}.new`, path);
    },
  };
}
