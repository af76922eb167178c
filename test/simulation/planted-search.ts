/**
 * Looks for planted faults. Nearly all seeds on the way to the one that finds a fault find nothing, so it is tried first where it was found last;
 * that is another seed once the world draws its numbers otherwise, and then all are run from 1 on.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { PLANTED_FAULTS, PLANTED_SEEDS } from './planted-faults.ts';
import { type FailedSeed, runSeeds } from './runner.ts';

const NOTED = new URL('found-by.json', import.meta.url);
const noted = JSON.parse(readFileSync(NOTED, 'utf8')) as Readonly<Record<string, number>>;

interface Found extends FailedSeed {
  /** The world says what the fault is. */
  readonly isRight: boolean;
  readonly isNoted: boolean;
}

/**
 * @param seeds first and last; else the noted one, and then all up to `PLANTED_SEEDS`
 * @returns the first seed that fails; null: none does
 */
export async function findPlanted(
  name: string,
  seeds: readonly [number, number] | null = null,
): Promise<Found | null> {
  const fault = PLANTED_FAULTS[name]!;
  const find = async (first: number, last: number): Promise<Omit<Found, 'isNoted'> | null> => {
    const small = fault.small ? 'all' : 'none';
    const { failures } = await runSeeds({ first, last, processes: 1, fault, small, failuresMax: 1 });
    return failures[0] === undefined
      ? null
      : { ...failures[0], isRight: fault.finds.test(failures[0].message) };
  };
  const seed = seeds === null ? noted[name] : undefined;
  const known = seed === undefined ? null : await find(seed, seed);
  if (known?.isRight) return { ...known, isNoted: true };
  const found = await find(...(seeds ?? [1, PLANTED_SEEDS]));
  return found && { ...found, isNoted: false };
}

/** Writes down by which seed each fault was found. */
export function noteSeeds(seeds: ReadonlyMap<string, number>): void {
  const sorted = [...seeds].toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(NOTED, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}
