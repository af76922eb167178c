import { parseTime } from '../base/time.ts';
import type { Outcome } from '../protocol/query/outcome.ts';
import { answered, type FlatFields } from './answers.ts';

export const DAY_MS = 86_400_000;
export const WEEKDAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const;
type Weekday = (typeof WEEKDAYS)[number];

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** TTLs in seconds: for a date in the query, and for today. */
const NAMED_TTL = 86_400;
const TODAY_TTL = 3600;

/** One UTC day. */
export interface Day {
  /** Milliseconds since the epoch. */
  readonly start: number;
  /** True when the query has no date: the answer changes when the day ends. */
  readonly isToday: boolean;
}

/** Strictly `YYYY-MM-DD`, an existing day. Returns its start in UTC, or null. */
export function parseDate(text: string): number | null {
  return DATE.test(text) ? parseTime(`${text}T00:00:00Z`) : null;
}

/** `YYYY-MM-DD`, for the years 0 to 9999. */
export function dateText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** `YYYY-MM-DDTHH:MM:SSZ`, to the nearest second; undefined stays undefined. */
export function secondText(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  return `${new Date(Math.round(ms / 1000) * 1000).toISOString().slice(0, -5)}Z`;
}

/** In English, in lower case. @param ms milliseconds since the epoch, as UTC */
export function weekday(ms: number): Weekday {
  return WEEKDAYS[new Date(ms).getUTCDay()]!;
}

export function dayOf(now: number): Day {
  return { start: Math.floor(now / DAY_MS) * DAY_MS, isToday: true };
}

/** An answer for a day. The answer for today ends at midnight UTC, and its TTL counts down the last hour. */
export function answeredForDay(fields: FlatFields, day: Day, now: number): Outcome {
  if (!day.isToday) return answered(fields, { ttl: NAMED_TTL, now });
  const midnight = day.start + DAY_MS;
  const ttl = Math.min(TODAY_TTL, Math.floor((midnight - now) / 1000));
  return answered(fields, { ttl, now, until: Math.min(midnight, midnight - ttl * 1000 + 1) });
}
