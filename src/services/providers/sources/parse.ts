/** Above any plausible price, rate or volume; beyond 2^53 digits are lost. */
const MAGNITUDE_MAX = 1e15;
const DECIMAL = /^-?[0-9]{1,16}(?:\.[0-9]{1,18})?$/;
/** The year 9999, seconds since the epoch. */
const SECONDS_MAX = 253_402_300_799;
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** The member of a JSON value along a path; undefined if missing. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here: unknown = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

/** A JSON number, or a plain decimal in a string; else null. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return null;
  return Math.abs(number) < MAGNITUDE_MAX ? number : null;
}

/** As `numberOf`, within the bounds. */
export function within(value: unknown, min: number, max: number): number | null {
  const number = numberOf(value);
  return number !== null && number >= min && number <= max ? number : null;
}

export function positive(value: unknown): number | null {
  const number = numberOf(value);
  return number !== null && number > 0 ? number : null;
}

/** Seconds since the epoch as milliseconds; undefined when invalid. */
export function secondsOf(value: unknown): number | undefined {
  const seconds = within(value, 1, SECONDS_MAX);
  return seconds === null ? undefined : seconds * 1000;
}

function placesOf(value: unknown): number {
  const text = String(value);
  const point = text.indexOf('.');
  return point < 0 || text.includes('e') ? 0 : text.length - point - 1;
}

/** `value - other` without binary rounding errors: with the decimals of the longer of the two. */
export function difference(value: unknown, other: unknown): number | null {
  const a = numberOf(value);
  const b = numberOf(other);
  if (a === null || b === null) return null;
  const places = Math.min(18, Math.max(placesOf(value), placesOf(other)));
  const result = a - b;
  return places === 0 ? Number(result.toPrecision(12)) : Number(result.toFixed(places));
}

/** An existing date as `YYYY-MM-DD`; else null. */
export function dateOf(value: unknown): string | null {
  if (typeof value !== 'string' || !DATE.test(value)) return null;
  const time = Date.parse(`${value}T00:00:00Z`);
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== value ? null : value;
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
