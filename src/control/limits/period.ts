/** How many hits a period admits and how long it lasts. */
export interface PeriodRule {
  readonly limit: number;
  /** Milliseconds. */
  readonly length: number;
}

/** A key's period: begun by its first hit, at `startedAt` in milliseconds since the epoch. */
export interface Period {
  readonly startedAt: number;
  readonly count: number;
}

/** Whether a period no longer counts. One that lies in the future (the clock was set back) does not count either. */
export function isOver(period: Period, length: number, now: number): boolean {
  return now >= period.startedAt + length || now < period.startedAt;
}

/** The period after one more hit. */
export function hit(period: Period | undefined, length: number, now: number): Period {
  if (period === undefined || isOver(period, length, now)) return { startedAt: now, count: 1 };
  return { startedAt: period.startedAt, count: period.count + 1 };
}

/** The period without a hit that was counted at `takenAt`; unchanged when it began after that. */
export function withoutHit(period: Period, takenAt: number): Period {
  if (period.startedAt > takenAt || period.count === 0) return period;
  return { startedAt: period.startedAt, count: period.count - 1 };
}

/**
 * Judges one more hit without counting it.
 *
 * @returns 0 when there is room, else whole seconds, at least 1, until there is
 */
export function secondsToWait(period: Period | undefined, rule: PeriodRule, now: number): number {
  if (period === undefined || isOver(period, rule.length, now) || period.count < rule.limit) return 0;
  return Math.max(1, Math.ceil((period.startedAt + rule.length - now) / 1000));
}
