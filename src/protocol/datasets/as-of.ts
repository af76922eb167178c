/** Instants are unix seconds. */

/** 0001-01-01T00:00:00Z. */
export const EARLIEST = -62_135_596_800;
/** 9999-12-31T23:59:59Z. */
export const LATEST = 253_402_300_799;

const SECONDS = /^[0-9]{1,10}$/;
const SECONDS_OF_400_YEARS = 146_097 * 86_400;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** The start of a UTC day, `0001-01-01` to `9999-12-31`; null for any other text. */
export function parseDay(text: string): number | null {
  if (!DATE.test(text)) return null;
  const year = Number(text.slice(0, 4));
  const month = Number(text.slice(5, 7));
  const day = Number(text.slice(8));
  if (year === 0 || day === 0 || day > daysOf(year, month)) return null;
  // 400 years on: `Date.UTC` reads the years 0 to 99 as 1900 to 1999. Parsing the text takes several times as long.
  return Date.UTC(year + 400, month - 1, day) / 1000 - SECONDS_OF_400_YEARS;
}

/** 0 for a month that is none. */
function daysOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (MONTH_DAYS[month - 1] ?? 0);
}

/** The part of a label after `-t-`: unix seconds of 1 to 10 digits, or a date. Null for anything else. */
export function parseAsOf(text: string): number | null {
  return SECONDS.test(text) ? Number(text) : parseDay(text);
}
