import type { Clock } from '../../core/clock.ts';
import { hit, isOver, type Period, type PeriodRule, secondsToWait, withoutHit } from './period.ts';
import { BUDGETS, type Budget } from './rules.ts';

export interface Limiter {
  /** Counts a hit and returns 0; at the limit counts nothing and returns whole seconds to wait, at least 1. */
  take(budget: Budget, key: string): number | Promise<number>;
  /** Removes a hit counted at `takenAt`, milliseconds since the epoch, from periods that had begun by then. */
  giveBack(budget: Budget, key: string, takenAt: number): void | Promise<void>;
}

interface MemoryLimiter extends Limiter {
  take(budget: Budget, key: string): number;
  giveBack(budget: Budget, key: string, takenAt: number): void;
}

/** UQRP_REST_RATE=off. */
export const unlimited: Limiter = { take: () => 0, giveBack: () => {} };

/** Keys of one budget. Above it the oldest are deleted, so that a flood does not fill memory. */
const KEYS_MAX = 100_000;

type KeyedPeriods = Map<string, readonly (Period | undefined)[]>;

/** Each budget has its own map: a flood of addresses deletes no customer. */
export function memoryLimiter(clock: Clock, keysMax: number = KEYS_MAX): MemoryLimiter {
  const maps = new Map<Budget, KeyedPeriods>();
  return {
    take(budget, key) {
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const now = clock();
      const map = mapOf(maps, budget);
      const periods = map.get(key) ?? [];
      const wait = Math.max(...rules.map((rule, i) => secondsToWait(periods[i], rule, now)));
      if (wait > 0) return wait;
      if (!map.has(key) && map.size >= keysMax) makeRoom(map, rules, now, keysMax);
      map.set(
        key,
        rules.map((rule, i) => hit(periods[i], rule.length, now)),
      );
      return 0;
    },
    giveBack(budget, key, takenAt) {
      const map = mapOf(maps, budget);
      const periods = map.get(key);
      if (periods !== undefined)
        map.set(
          key,
          periods.map((period) => period && withoutHit(period, takenAt)),
        );
    },
  };
}

function mapOf(maps: Map<Budget, KeyedPeriods>, budget: Budget): KeyedPeriods {
  const known = maps.get(budget);
  if (known !== undefined) return known;
  const made: KeyedPeriods = new Map();
  maps.set(budget, made);
  return made;
}

/** Deletes periods that are over; when none is, the oldest tenth. */
function makeRoom(map: KeyedPeriods, rules: readonly PeriodRule[], now: number, keysMax: number): void {
  for (const [key, periods] of map) {
    const over = rules.every((rule, i) => periods[i] === undefined || isOver(periods[i], rule.length, now));
    if (over) map.delete(key);
  }
  let excess = map.size < keysMax ? 0 : Math.ceil(keysMax / 10);
  for (const key of map.keys()) {
    if (excess-- <= 0) return;
    map.delete(key);
  }
}
