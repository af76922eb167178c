export interface PeriodRule {
  readonly limit: number;
  /** Milliseconds. */
  readonly length: number;
}

/** It starts with the first hit of a key, at `startedAt`: milliseconds since the epoch. */
export interface Period {
  readonly startedAt: number;
  readonly count: number;
}

/** True also for a period in the future: the clock was set back. */
export function isOver(period: Period, length: number, now: number): boolean {
  return now >= period.startedAt + length || now < period.startedAt;
}

export function hit(period: Period | undefined, length: number, now: number, hits = 1): Period {
  if (period === undefined || isOver(period, length, now)) return { startedAt: now, count: hits };
  return { startedAt: period.startedAt, count: period.count + hits };
}

/** Removes hits counted at `takenAt`; no change when the period started later. */
export function withoutHit(period: Period, takenAt: number, hits = 1): Period {
  if (period.startedAt > takenAt) return period;
  return { startedAt: period.startedAt, count: Math.max(0, period.count - hits) };
}

/**
 * Returns 0 when the period admits so many more hits, else the whole seconds until it does, at least 1. Counts nothing.
 * @param hits at most the limit of the rule
 */
export function secondsToWait(period: Period | undefined, rule: PeriodRule, now: number, hits = 1): number {
  if (period === undefined || isOver(period, rule.length, now) || period.count + hits <= rule.limit) return 0;
  return Math.max(1, Math.ceil((period.startedAt + rule.length - now) / 1000));
}

/** How much of a period is used. */
export interface BudgetUse {
  readonly used: number;
  readonly limit: number;
  /** Whole seconds until `used` is 0 again, at least 1; 0: nothing is used. */
  readonly resets_in: number;
}

export function useOf(period: Period | undefined, { limit, length }: PeriodRule, now: number): BudgetUse {
  if (period === undefined || period.count === 0 || isOver(period, length, now))
    return { used: 0, limit, resets_in: 0 };
  const left = period.startedAt + length - now;
  return { used: period.count, limit, resets_in: Math.max(1, Math.ceil(left / 1000)) };
}
