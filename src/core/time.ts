const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** ISO 8601, UTC, milliseconds and `Z` (decisions, section 2). */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** As `formatTime`, for times that may be absent. */
export function formatTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTime(ms);
}

/**
 * Parses an RFC 3339 timestamp: date, time and zone must all be there and must exist (no 30 February, no second 60).
 * Fractions finer than a millisecond are cut off.
 *
 * @returns milliseconds since the epoch, or null
 */
export function parseTime(text: string): number | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction = '', sign, zoneHour = '0', zoneMinute = '0'] =
    match;
  const zone = Number(zoneHour) * 60 + Number(zoneMinute);
  if (Number(zoneHour) > 23 || Number(zoneMinute) > 59) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const date = new Date(0);
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  date.setUTCHours(Number(hour), Number(minute), Number(second), Number(fraction.slice(0, 3).padEnd(3, '0')));
  return date.getTime() - (sign === '-' ? -zone : zone) * 60_000;
}
