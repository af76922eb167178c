import type { Clock } from '../../base/clock.ts';
import {
  type BudgetUse,
  hit,
  isOver,
  type Period,
  type PeriodRule,
  secondsToWait,
  useOf,
  withoutHit,
} from './period.ts';
import { BUDGETS, type Budget } from './rules.ts';

export interface Limiter {
  /**
   * Counts hits, all of them, and returns 0; without room for them counts none and returns whole seconds to wait, at least 1.
   * @param hits at most the least limit of the budget; 1 if omitted
   */
  take(budget: Budget, key: string, hits?: number): number | Promise<number>;
  /** Each period of the budget, in the order of the table. Null: nothing is limited. Counts nothing. */
  used(budget: Budget, key: string): readonly BudgetUse[] | null | Promise<readonly BudgetUse[] | null>;
  /** Removes hits, 1 if omitted, counted at `takenAt`, milliseconds since the epoch, from periods that had begun by then. */
  giveBack(budget: Budget, key: string, takenAt: number, hits?: number): void | Promise<void>;
}

interface MemoryLimiter extends Limiter {
  used(budget: Budget, key: string): readonly BudgetUse[];
  take(budget: Budget, key: string, hits?: number): number;
  giveBack(budget: Budget, key: string, takenAt: number, hits?: number): void;
}

/** UQRP_REST_RATE=off. */
export const unlimited: Limiter = { take: () => 0, used: () => null, giveBack: () => {} };

/** Keys of one budget. Above it some are deleted, so that a flood does not fill memory. */
const KEYS_MAX = 100_000;

type KeyedPeriods = Map<string, readonly (Period | undefined)[]>;

/** Each budget has its own map: a flood of addresses deletes no customer. */
export function memoryLimiter(clock: Clock, keysMax: number = KEYS_MAX): MemoryLimiter {
  const maps = new Map<Budget, KeyedPeriods>();
  return {
    take(budget, key, hits = 1) {
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const now = clock();
      const map = mapOf(maps, budget);
      const periods = map.get(key) ?? [];
      const wait = Math.max(...rules.map((rule, i) => secondsToWait(periods[i], rule, now, hits)));
      if (wait > 0) return wait;
      if (!map.has(key) && map.size >= keysMax) makeRoom(map, rules, now, keysMax);
      map.set(
        key,
        rules.map((rule, i) => hit(periods[i], rule.length, now, hits)),
      );
      return 0;
    },
    used(budget, key) {
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const periods = mapOf(maps, budget).get(key) ?? [];
      return rules.map((rule, i) => useOf(periods[i], rule, clock()));
    },
    giveBack(budget, key, takenAt, hits = 1) {
      const map = mapOf(maps, budget);
      const periods = map.get(key);
      if (periods !== undefined)
        map.set(
          key,
          periods.map((period) => period && withoutHit(period, takenAt, hits)),
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

/**
 * Deletes periods that are over; when none is, a tenth of the keys: those with the fewest hits, of these the oldest. A flood of keys
 * that are used once does not reset a key that is near its limit.
 */
function makeRoom(map: KeyedPeriods, rules: readonly PeriodRule[], now: number, keysMax: number): void {
  for (const [key, periods] of map) {
    const over = rules.every((rule, i) => periods[i] === undefined || isOver(periods[i], rule.length, now));
    if (over) map.delete(key);
  }
  let excess = map.size < keysMax ? 0 : Math.ceil(keysMax / 10);
  for (let hits = 1; excess > 0; hits *= 2) {
    for (const [key, periods] of map) {
      if (excess === 0) return;
      if (periods.some((period) => period !== undefined && period.count > hits)) continue;
      map.delete(key);
      excess--;
    }
  }
}
