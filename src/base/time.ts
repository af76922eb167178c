/** Milliseconds since the Unix epoch. Only a composition root makes the real clock. */
export type Clock = () => number;

/** Whether a time is still to come. One more than `longestMs` away was set before the clock was set back: it is over. */
export function isAhead(until: number, now: number, longestMs: number): boolean {
  return now < until && until - now <= longestMs;
}

export const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:[Zz]|([+-])(\d{2}):?(\d{2})))?$/;

export const NOT_A_TIME = 'is not an ISO 8601 date, or date and time with a zone';

let formatted = { ms: Number.NaN, text: '' };

/** ISO 8601, UTC, with milliseconds and `Z`. The last one is kept: a new record has the same time twice. */
export function formatTime(ms: number): string {
  if (ms !== formatted.ms) formatted = { ms, text: new Date(ms).toISOString() };
  return formatted.text;
}

export function formatTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTime(ms);
}

/**
 * Parses RFC 3339, a date alone (00:00 UTC), a time without seconds, or an offset without a colon: milliseconds since
 * the epoch. Null for a time of day without an offset, 30 February and second 60. Fractions are cut to milliseconds.
 */
export function parseTime(text: string): number | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match;
  const [sign, zoneHour = '0', zoneMinute = '0'] = match.slice(8);
  const zone = Number(zoneHour) * 60 + Number(zoneMinute);
  if (Number(zoneHour) > 23 || Number(zoneMinute) > 59) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const date = new Date(0);
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  date.setUTCHours(Number(hour), Number(minute), Number(second), Number(fraction.slice(0, 3).padEnd(3, '0')));
  return date.getTime() - (sign === '-' ? -zone : zone) * 60_000;
}
