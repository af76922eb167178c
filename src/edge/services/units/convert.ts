import { CONVERSIONS, type Conversion } from './units.ts';

/** `[n]` then digits with optional `d` digits, or `d` digits (specification, Units). */
const VALUE = /^(n?)([0-9]+(?:d[0-9]+)?|d[0-9]+)$/;
const EXPRESSION = /^([^-]+)-([a-z0-9]{1,8}-to-[a-z0-9]{1,8})$/;
/** Digits of a 64-bit float that are sure after a few roundings. */
const SURE_DIGITS = 14;
const PLACES_MAX = 100;

export interface Expression {
  readonly value: number;
  readonly conversion: Conversion;
}

/**
 * Parses `<value>-<from>-to-<to>`, in lower case.
 *
 * @returns null when it breaks the grammar, names a unit that is not in the table, or two of different categories
 */
export function parseExpression(text: string): Expression | null {
  const match = EXPRESSION.exec(text);
  const value = match === null ? null : parseValue(match[1]!);
  const conversion = match === null ? undefined : CONVERSIONS.get(match[2]!);
  return value === null || conversion === undefined ? null : { value, conversion };
}

/** The value as a 64-bit float; null when it breaks the grammar or overflows. */
export function parseValue(text: string): number | null {
  const match = VALUE.exec(text);
  if (match === null) return null;
  const number = Number(match[2]!.replace('d', '.'));
  if (!Number.isFinite(number)) return null;
  return match[1] === 'n' && number !== 0 ? -number : number;
}

/** @returns null on overflow */
export function convert(value: number, { times, plus, over }: Conversion): number | null {
  // Dividing first keeps huge values finite; within 2^53 it would cost a rounding.
  const scaled = Math.abs(value) < Number.MAX_SAFE_INTEGER ? (value * times) / over : value * (times / over);
  const result = plus === 0 ? scaled : shifted(value, times, plus, over);
  return Number.isFinite(result) ? result : null;
}

/**
 * With an offset the terms may cancel, and what is left of them is rounding error: 32 f is 0 c. It is cut off at the
 * place where the greater term has no digits any more.
 */
function shifted(value: number, times: number, plus: number, over: number): number {
  const term = value * times;
  const result = (term + plus) / over;
  const greater = Math.max(Math.abs(term), Math.abs(plus)) / over;
  const places = SURE_DIGITS - 1 - Math.floor(Math.log10(greater));
  return places > 0 ? Number(result.toFixed(Math.min(places, PLACES_MAX))) : result;
}
