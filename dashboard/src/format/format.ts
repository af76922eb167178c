/** The one formatter of numbers and times. */

/** English as the reader has set it: day before month or after it, 12 hours or 24. */
export function localeOf(languages: readonly string[] | undefined): string {
  return languages?.find((language) => /^en\b/i.test(language)) ?? 'en';
}

const LOCALE = localeOf(globalThis.navigator?.languages);
const COUNT = new Intl.NumberFormat(LOCALE);
const SHORT = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 0 });
const DATE = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium' });
const DATE_TIME = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' });
const DAY_TIME = new Intl.DateTimeFormat(LOCALE, {
  ...{ day: 'numeric', month: 'short' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
});
const TIME = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto', style: 'short' });

/** 12,345 */
export function count(value: number): string {
  return COUNT.format(value);
}

/** `16777216` is 16,777,216: digits of any length, of which none is lost. Up to four digits, and what is no decimal number, stay. */
export function grouped(digits: string): string {
  const [, sign = '', whole = '', rest = ''] = /^(-?)(\d{5,})(\.\d+)?$/.exec(digits) ?? [];
  return whole === '' ? digits : `${sign}${COUNT.format(BigInt(whole))}${rest}`;
}

/** 12.3K: for axes and small places. */
export function shortCount(value: number): string {
  return SHORT.format(value);
}

/** 0.42 is 42%. Below one percent it says <1%, unless nothing is used. */
export function percent(share: number): string {
  return share > 0 && share < 0.01 ? '<1%' : PERCENT.format(share);
}

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;

/** 2,586 bytes, 1.2 MB. Thousands, as disks count. Octets up to 10,000 are not rounded. */
export function bytes(value: number): string {
  let unit = 0;
  let left = value;
  while (left >= (unit === 0 ? 10_000 : 1000) && unit < BYTE_UNITS.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return new Intl.NumberFormat(LOCALE, {
    style: 'unit',
    unit: BYTE_UNITS[unit]!,
    unitDisplay: unit === 0 ? 'long' : 'short',
    maximumFractionDigits: unit === 0 ? 0 : 1,
  }).format(left);
}

/** 0.4 ms, 31 ms, 1.2 s. */
export function milliseconds(value: number): string {
  const [amount, unit] = value < 1000 ? [value, 'millisecond'] : [value / 1000, 'second'];
  return new Intl.NumberFormat(LOCALE, {
    style: 'unit',
    unit,
    maximumFractionDigits: amount < 10 ? 1 : 0,
  }).format(amount);
}

/** A time as the API gives it, or milliseconds since 1970. */
export type Moment = string | number | Date;

/** 22 Nov 2026 */
export function date(at: Moment): string {
  return DATE.format(new Date(at));
}

/** 22 Nov 2026, 20:03:52 */
export function dateTime(at: Moment): string {
  return DATE_TIME.format(new Date(at));
}

/** 22 Nov, 20:03:52 */
export function dayTime(at: Moment): string {
  return DAY_TIME.format(new Date(at));
}

/** 20:03:52 */
export function time(at: Moment): string {
  return TIME.format(new Date(at));
}

/** From the longest: seconds of a unit. */
const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** `3 hr. ago` or `in 2 days`, seen from `now`. Within five seconds it is `now`. */
export function relative(at: Moment, now: number = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  if (Math.abs(seconds) < 5) return RELATIVE.format(0, 'second');
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS[5];
  return RELATIVE.format(Math.trunc(seconds / length), unit);
}
