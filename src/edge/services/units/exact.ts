import { decimal } from '../flat.ts';

/** `digits` / 10^`places`, with its sign: a number as it was written, exactly. */
export interface Decimal {
  readonly isNegative: boolean;
  /** Without leading zeros; `0` for zero. */
  readonly digits: string;
  readonly places: number;
}

/** Significant digits of a number in an answer. */
export const DIGITS = 12;
/** Integers of so many digits are exact in a 64-bit float. */
const FLOAT_DIGITS = 15;
/** A float quotient nearer than this to a tie, in units of the last digit, does not tell to which side it is rounded. */
const TIE_DISTANCE = 1e-3;
/** Powers of ten from 10^-`POWER_MIN` on, as floats. */
const POWER_MIN = 40;
const POWERS = Array.from({ length: 2 * POWER_MIN }, (_, i) => Number(`1e${i - POWER_MIN}`));

function power(exponent: number): number {
  return POWERS[exponent + POWER_MIN]!;
}

/** (value x times + plus) / over, in whole numbers below 2^53. */
export interface Linear {
  readonly times: number;
  readonly plus: number;
  readonly over: number;
}

/** The shortest decimal of at most 12 significant digits, ties to even, without an exponent. */
export function decimalText({ isNegative, digits, places }: Decimal): string {
  if (digits === '0') return '0';
  if (digits.length > DIGITS) return exactText(signed(isNegative, digits), 10n ** BigInt(places));
  return (isNegative ? '-' : '') + pointed(digits, places);
}

/** The result of a linear function of the value, rounded like `decimalText`. */
export function linearText(value: Decimal, linear: Linear): string {
  return floatText(value, linear) ?? bigText(value, linear);
}

/** With floats, where these are exact up to one division and the quotient is not near a tie; else null. */
function floatText({ isNegative, digits, places }: Decimal, { times, plus, over }: Linear): string | null {
  if (digits.length > FLOAT_DIGITS || places > FLOAT_DIGITS) return null;
  const scale = power(places);
  const term = (isNegative ? -Number(digits) : Number(digits)) * times;
  const shift = plus * scale;
  const numerator = term + shift;
  const denominator = over * scale;
  const isExact =
    Number.isSafeInteger(term) &&
    Number.isSafeInteger(shift) &&
    Number.isSafeInteger(numerator) &&
    Number.isSafeInteger(denominator);
  if (!isExact) return null;
  const quotient = numerator / denominator;
  const rounded = Number(quotient.toPrecision(DIGITS));
  const off = Math.abs(quotient - rounded);
  if (off > 0) {
    const unit = power(Math.floor(Math.log10(Math.abs(quotient))) + 1 - DIGITS);
    if (Math.abs(off / unit - 0.5) < TIE_DISTANCE) return null;
  }
  return decimal(rounded);
}

function bigText({ isNegative, digits, places }: Decimal, { times, plus, over }: Linear): string {
  const scale = 10n ** BigInt(places);
  return exactText(signed(isNegative, digits) * BigInt(times) + BigInt(plus) * scale, BigInt(over) * scale);
}

/** @param denominator above zero */
function exactText(numerator: bigint, denominator: bigint): string {
  if (numerator === 0n) return '0';
  const size = numerator < 0n ? -numerator : numerator;
  // 10^(estimate - 1) < size / denominator < 10^(estimate + 1)
  const estimate = size.toString().length - denominator.toString().length;
  const [a, b] = scaled(size, denominator, -estimate);
  const places = DIGITS - 1 - (a < b ? estimate - 1 : estimate);
  const [above, below] = scaled(size, denominator, places);
  const whole = above / below;
  const twice = 2n * (above % below);
  const isUp = twice > below || (twice === below && whole % 2n === 1n);
  const digits = (isUp ? whole + 1n : whole).toString();
  return (numerator < 0n ? '-' : '') + pointed(digits, places);
}

/** The fraction times 10^`exponent`. */
function scaled(numerator: bigint, denominator: bigint, exponent: number): readonly [bigint, bigint] {
  return exponent >= 0
    ? [numerator * 10n ** BigInt(exponent), denominator]
    : [numerator, denominator * 10n ** BigInt(-exponent)];
}

/** digits / 10^places as a plain decimal without trailing zeros. */
function pointed(digits: string, places: number): string {
  if (places <= 0) return digits + '0'.repeat(-places);
  const padded = digits.padStart(places + 1, '0');
  let end = padded.length;
  const point = padded.length - places;
  while (end > point && padded[end - 1] === '0') end--;
  const whole = padded.slice(0, point);
  return end === point ? whole : `${whole}.${padded.slice(point, end)}`;
}

function signed(isNegative: boolean, digits: string): bigint {
  return isNegative ? -BigInt(digits) : BigInt(digits);
}
