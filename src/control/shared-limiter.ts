import type { Clock } from '../base/time.ts';
import { BUDGETS, type Limiter, type PeriodRule, secondsToWait, useOf } from '../http/limiter.ts';
import { countHits, forgetPeriods, readPeriods, uncountHits } from '../store/rate-limits.ts';
import type { Store } from '../store/store.ts';

/** Every length of a period, milliseconds. */
const LENGTHS = new Set(Object.values(BUDGETS).flatMap((rules) => rules.map(({ length }) => length)));

/** Rolls back the counts of a unit of work. `take` catches it. */
class Refused extends Error {}

/** Milliseconds between deletions of old periods. */
const FORGET_EVERY = 60_000;

/** Budgets shared by API processes on one PostgreSQL. A hit is counted in all its periods or in none. */
export function sharedLimiter(store: Store, clock: Clock): Limiter {
  let forgottenAt = clock();
  return {
    async take(budget, key, hits = 1) {
      const now = clock();
      if (now - forgottenAt >= FORGET_EVERY) {
        forgottenAt = now;
        await store.write(async (tx) => {
          for (const length of LENGTHS)
            await forgetPeriods(tx, now - length, periodKey('%', { length }, '%'));
        });
      }
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const keys = rules.map((rule) => periodKey(budget, rule, key));
      try {
        await store.write(async (tx) => {
          for (const [i, rule] of rules.entries()) {
            if (!(await countHits(tx, { key: keys[i]!, hits, rule, now }))) throw new Refused();
          }
        });
        return 0;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
      }
      const periods = await readPeriods(store.read, keys);
      const waits = rules.map((rule, i) => secondsToWait(periods.get(keys[i]!), rule, now, hits));
      return Math.max(1, ...waits);
    },
    async used(budget, key) {
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const keys = rules.map((rule) => periodKey(budget, rule, key));
      const periods = await readPeriods(store.read, keys);
      return rules.map((rule, i) => useOf(periods.get(keys[i]!), rule, clock()));
    },
    async giveBack(budget, key, takenAt, hits = 1) {
      const keys = BUDGETS[budget].map((rule: PeriodRule) => periodKey(budget, rule, key));
      await store.write((tx) => uncountHits(tx, keys, takenAt, hits));
    },
  };
}

function periodKey(budget: string, rule: Pick<PeriodRule, 'length'>, key: string): string {
  return `${budget}:${rule.length}:${key}`;
}
