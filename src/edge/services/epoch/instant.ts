import { parseTime } from '../../../core/text/time.ts';
import { DAY_MS, parseDate } from '../days.ts';

/** First and last second of the years 0 to 9999, which ISO 8601 writes with four digits. */
const SECONDS_MIN = -62_167_219_200;
const SECONDS_MAX = 253_402_300_799;

/** Seconds, with `d` for the decimal point and `n` for the minus sign; or milliseconds. */
const SECONDS = /^([n-]?)(0|[1-9][0-9]{0,11})(?:[d.]([0-9]{1,3}))?$/;
const MILLISECONDS = /^([n-]?)(0|[1-9][0-9]{0,14})-ms$/;
/** `2026-01-01t12-30-00z`: hyphens for colons, `d` for the point. Seconds and their fraction may be left out. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})t(\d{2})[-:](\d{2})(?:[-:](\d{2})(?:[d.](\d{1,3}))?)?z$/;

export type InstantFault = 'value' | 'date';

/** Milliseconds since the epoch of a label in lower case. */
export function parseInstant(label: string): number | InstantFault {
  const seconds = SECONDS.exec(label);
  if (seconds !== null) {
    const [, sign = '', whole = '', fraction = ''] = seconds;
    return inRange(signed(sign, Number(whole) * 1000 + Number(fraction.padEnd(3, '0'))));
  }
  const milliseconds = MILLISECONDS.exec(label);
  if (milliseconds !== null) return inRange(signed(milliseconds[1]!, Number(milliseconds[2])));
  const time = DATE_TIME.exec(label);
  if (time === null) return parseDate(label) ?? (/^\d{4}-/.test(label) ? 'date' : 'value');
  const [, date, hour, minute, second = '00', fraction = '0'] = time;
  return parseTime(`${date}T${hour}:${minute}:${second}.${fraction}Z`) ?? 'date';
}

function signed(sign: string, ms: number): number {
  return sign === '' || ms === 0 ? ms : -ms;
}

function inRange(ms: number): number | InstantFault {
  return ms >= SECONDS_MIN * 1000 && ms < (SECONDS_MAX + 1) * 1000 ? ms : 'value';
}

/** ISO 8601, UTC, with milliseconds only where there are any. */
export function instantText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** `2026-W01` (ISO 8601): the week, from Monday on, that holds the Thursday of this one. Weeks of the year -1: null. */
export function weekText(ms: number): string | undefined {
  const day = Math.floor(ms / DAY_MS);
  // 1970-01-01 was a Thursday.
  const thursday = (day - ((((day + 3) % 7) + 7) % 7) + 3) * DAY_MS;
  const year = new Date(thursday).getUTCFullYear();
  if (year < 0 || year > 9999) return undefined;
  const first = new Date(0).setUTCFullYear(year, 0, 1);
  const week = 1 + Math.floor((thursday - first) / (7 * DAY_MS));
  return `${String(year).padStart(4, '0')}-W${String(week).padStart(2, '0')}`;
}
