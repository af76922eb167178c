import type { Random } from './random.ts';

/** Days since 1970-01-01. */
export type Day = number;

export interface Period {
  readonly from: string | number | null;
  readonly to: string | number | null;
}

const DAY_SECONDS = 86_400;
const WINDOWS_MAX = 64;

export function dayOf(date: string): Day {
  return Date.parse(`${date}T00:00:00Z`) / 1000 / DAY_SECONDS;
}

export function dateOf(day: Day): string {
  return new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10);
}

/** The first 29 February from this day on. */
export function leapDayFrom(day: Day): Day {
  for (let year = Number(dateOf(day).slice(0, 4)); ; year++) {
    const leap = dayOf(`${year}-02-28`) + 1;
    if (leap >= day && dateOf(leap).endsWith('-02-29')) return leap;
  }
}

/**
 * The windows of one item in ascending order: mostly one to four, of one item in 10,000 the most that are allowed. Some begin or
 * end on a leap day, some are open, some in unix seconds, some not begun; between some of them nothing holds.
 * @param random of this item. @param earliest first day that a window may begin on
 */
export function history(random: Random, earliest: Day, latest: Day): Period[] {
  const count = windowCount(random);
  // Many windows must fit before the year 9999 and need not reach it.
  const stride = count > 8 ? 90 : 1400;
  const periods: Period[] = [];
  let start = earliest + random.below(latest - earliest + 1);
  for (let i = 0; i < count; i++) {
    const from = random.chance(0.08) ? leapDayFrom(start) : start;
    const end = from + 30 + random.below(stride);
    const to = random.chance(0.05) ? leapDayFrom(end) : end;
    const isFirst = i === 0;
    const isLast = i === count - 1;
    periods.push({
      from: isFirst && random.chance(0.03) ? null : instant(random, from),
      to: isLast && random.chance(0.85) ? null : dateOf(to),
    });
    start = to + (random.chance(0.05) ? 1 + random.below(200) : 0);
  }
  return periods;
}

function windowCount(random: Random): number {
  if (random.chance(0.0001)) return WINDOWS_MAX;
  if (random.chance(0.65)) return 1;
  return random.chance(0.95) ? 2 + random.below(3) : 5 + random.below(4);
}

/** A date, or some second of that day. */
function instant(random: Random, day: Day): string | number {
  return random.chance(0.05) ? day * DAY_SECONDS + random.below(DAY_SECONDS) : dateOf(day);
}
