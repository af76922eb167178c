import type { Clock } from '../../core/clock.ts';
import { hit, isOver, type Period, type PeriodRule, secondsToWait, withoutHit } from './period.ts';
import { BUDGETS, type Budget } from './rules.ts';

export interface Limiter {
  /**
   * Counts one hit, or refuses it without counting.
   *
   * @param key an address key, or the id of a customer or a webhook
   * @returns 0 when it was admitted, else whole seconds until the next is (Retry-After, at least 1)
   */
  take(budget: Budget, key: string): number | Promise<number>;
  /**
   * Takes back a hit that was admitted at `takenAt`, milliseconds since the epoch. Periods that began later do not hold it.
   */
  giveBack(budget: Budget, key: string, takenAt: number): void | Promise<void>;
}

/** A limiter that answers at once. */
interface MemoryLimiter extends Limiter {
  take(budget: Budget, key: string): number;
  giveBack(budget: Budget, key: string, takenAt: number): void;
}

/** A limiter that admits everything (UQRP_REST_RATE=off). */
export const unlimited: Limiter = { take: () => 0, giveBack: () => {} };

/** Keys remembered per budget. Above it the longest known are forgotten first, so memory stays bounded under a flood. */
const KEYS_MAX = 100_000;

type KeyedPeriods = Map<string, readonly (Period | undefined)[]>;

/** Budgets in the memory of this process. Each has a map of its own: a flood of addresses displaces no customer. */
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

/** Drops periods that are over; when all still count, the tenth that was first seen longest ago. */
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
