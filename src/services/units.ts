import { constant, decimal, malformedAnswer } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

/** `digits` / 10^`places`, with its sign: a number as it was written, exactly. */
interface Decimal {
  readonly isNegative: boolean;
  /** Without leading zeros; `0` for zero. */
  readonly digits: string;
  readonly places: number;
}

/** Significant digits of a number in an answer. */
const DIGITS = 12;
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
interface Linear {
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
function linearText(value: Decimal, linear: Linear): string {
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

export const CATEGORIES = ['temperature', 'length', 'mass', 'volume', 'speed'] as const;
type Category = (typeof CATEGORIES)[number];

/** A fraction of whole numbers, in any terms. */
export type Fraction = readonly [numerator: bigint, denominator: bigint];

/** base = (value + offset) x scale; the bases are kelvin, metre, kilogram, litre and metre a second. */
export interface Unit {
  readonly slug: string;
  /** In words. */
  readonly name: string;
  readonly category: Category;
  readonly scale: Fraction;
  readonly offset: Fraction;
}

const NO_OFFSET: Fraction = [0n, 1n];

/** Slug, name, scale, offset. Exact by definition: inch, pound, gallon, nautical mile and the two temperature scales. */
type Row = readonly [slug: string, name: string, numerator: bigint, denominator: bigint, offset?: Fraction];

const ROWS: Readonly<Record<Category, readonly Row[]>> = {
  temperature: [
    ['k', 'kelvin', 1n, 1n],
    ['c', 'degree Celsius', 1n, 1n, [27315n, 100n]],
    ['f', 'degree Fahrenheit', 5n, 9n, [45967n, 100n]],
  ],
  length: [
    ['m', 'metre', 1n, 1n],
    ['km', 'kilometre', 1000n, 1n],
    ['cm', 'centimetre', 1n, 100n],
    ['mm', 'millimetre', 1n, 1000n],
    ['mi', 'mile', 1609344n, 1000n],
    ['yd', 'yard', 9144n, 10_000n],
    ['ft', 'foot', 3048n, 10_000n],
    ['in', 'inch', 254n, 10_000n],
  ],
  mass: [
    ['kg', 'kilogram', 1n, 1n],
    ['g', 'gram', 1n, 1000n],
    ['mg', 'milligram', 1n, 1_000_000n],
    ['t', 'tonne', 1000n, 1n],
    ['lb', 'pound', 45_359_237n, 100_000_000n],
    ['oz', 'ounce', 45_359_237n, 1_600_000_000n],
  ],
  // US customary: a gallon is 231 cubic inches.
  volume: [
    ['l', 'litre', 1n, 1n],
    ['ml', 'millilitre', 1n, 1000n],
    ['m3', 'cubic metre', 1000n, 1n],
    ['gal', 'US gallon', 3_785_411_784n, 1_000_000_000n],
    ['qt', 'US quart', 3_785_411_784n, 4_000_000_000n],
    ['pt', 'US pint', 3_785_411_784n, 8_000_000_000n],
    ['cup', 'US cup', 3_785_411_784n, 16_000_000_000n],
    ['floz', 'US fluid ounce', 3_785_411_784n, 128_000_000_000n],
    ['tbsp', 'US tablespoon', 3_785_411_784n, 256_000_000_000n],
    ['tsp', 'US teaspoon', 3_785_411_784n, 768_000_000_000n],
  ],
  speed: [
    ['mps', 'metre a second', 1n, 1n],
    ['kmh', 'kilometre an hour', 5n, 18n],
    ['mph', 'mile an hour', 44_704n, 100_000n],
    ['kn', 'knot', 463n, 900n],
    ['fps', 'foot a second', 3048n, 10_000n],
  ],
};

/** The closed table, by slug. */
export const UNITS: ReadonlyMap<string, Unit> = new Map(
  CATEGORIES.flatMap((category) =>
    ROWS[category].map(([slug, name, numerator, denominator, offset = NO_OFFSET]): [string, Unit] => [
      slug,
      { slug, name, category, scale: [numerator, denominator], offset },
    ]),
  ),
);

/** How a value of one unit becomes one of another; exact. */
interface Conversion extends Linear {
  readonly from: Unit;
  readonly to: Unit;
}

/** Every pair within one category, by `<from>-to-<to>`. */
export const CONVERSIONS: ReadonlyMap<string, Conversion> = new Map(
  [...UNITS.values()].flatMap((from) =>
    [...UNITS.values()]
      .filter((to) => to.category === from.category)
      .map((to): [string, Conversion] => [`${from.slug}-to-${to.slug}`, conversion(from, to)]),
  ),
);

function conversion(from: Unit, to: Unit): Conversion {
  // (value + a/b) x s/t = (result + c/d) x u/v, solved for the result.
  const [a, b] = from.offset;
  const [s, t] = from.scale;
  const [c, d] = to.offset;
  const [u, v] = to.scale;
  const times = s * v * b * d;
  const plus = s * v * a * d - t * u * c * b;
  const over = t * u * b * d;
  const common = gcd(gcd(times, plus < 0n ? -plus : plus), over);
  return {
    from,
    to,
    times: Number(times / common),
    plus: Number(plus / common),
    over: Number(over / common),
  };
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}

const SLUGS = [...UNITS.keys()];

export const UNITS_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'units',
    title: 'Unit conversion',
    description:
      'A value converted between two units of one category. In the value d is the decimal point and a leading n the minus sign. A temperature below absolute zero is FORMERR. The answer never changes: it has no ts.',
    properties: {
      val: { type: 'number', description: 'The value asked for, rounded like the result', example: -40 },
      from: { type: 'string', description: 'Its unit', example: 'c', enum: SLUGS },
      to: { type: 'string', description: 'The unit asked for', example: 'f', enum: SLUGS },
      res: {
        type: 'number',
        description: 'The result: exact, rounded to 12 significant digits, ties to even',
        example: -40,
      },
      cat: {
        type: 'string',
        description: 'The category of both units',
        example: 'temperature',
        enum: CATEGORIES,
      },
    },
  }),
  template: 'get.{value}-{from}-to-{to}.units.public.v1',
  placeholders: {
    value: { type: 'string', examples: ['5', 'd5', 'n40', '98d6'] },
    from: { type: 'string', examples: ['km', 'c', 'gal'] },
    to: { type: 'string', examples: ['mi', 'f', 'l'] },
  },
  examples: [
    'get.n40-c-to-f.units.public.v1',
    'get.5-km-to-mi.units.public.v1',
    'get.d5-gal-to-l.units.public.v1',
  ],
  exampleResponse: 'v=svc1;s=ok;t=data;val=-40;from=c;to=f;res=-40;cat=temperature',
  ttl: 86_400,
  errors: [],
  meanings: CATEGORIES.map((kind) => ({
    kind,
    fields: ['from', 'to'],
    values: [...UNITS.values()]
      .filter(({ category }) => category === kind)
      .map(({ slug, name }): [string, string] => [slug, name]),
  })),
};

/** `[n]` then digits with optional `d` digits, or `d` digits. */
const VALUE = /^(n?)([0-9]*)(?:d([0-9]+))?$/;
const EXPRESSION = /^([^-]+)-(([a-z0-9]{1,8})-to-([a-z0-9]{1,8}))$/;
const LEADING_ZEROS = /^0+(?=.)/;
/** A label has no more octets; what a `b32-` or `hex-` label holds is shorter. */
const EXPRESSION_MAX = 63;

interface Expression {
  readonly value: Decimal;
  readonly conversion: Conversion;
}

/** `value`: the grammar; `unit`: not in the table; `units`: of different categories. */
type ExpressionFault = 'value' | 'unit' | 'units';

/** Parses `<value>-<from>-to-<to>`, in lower case. */
export function parseExpression(text: string): Expression | ExpressionFault {
  const match = text.length > EXPRESSION_MAX ? null : EXPRESSION.exec(text);
  if (match === null) return 'value';
  const conversion = CONVERSIONS.get(match[2]!);
  if (conversion === undefined) return UNITS.has(match[3]!) && UNITS.has(match[4]!) ? 'units' : 'unit';
  const value = parseValue(match[1]!);
  if (value === null || isBelowZeroKelvin(value, conversion)) return 'value';
  return { value, conversion };
}

/** Temperatures alone have a least one: their offsets lead to kelvin. */
function isBelowZeroKelvin({ isNegative, digits, places }: Decimal, { from }: Conversion): boolean {
  if (!isNegative || from.category !== 'temperature') return false;
  const [numerator, denominator] = from.offset;
  return BigInt(digits) * denominator > numerator * 10n ** BigInt(places);
}

/** The value, exactly as it is written; null when it breaks the grammar. */
export function parseValue(text: string): Decimal | null {
  const match = VALUE.exec(text);
  if (match === null) return null;
  const [, sign, whole, fraction = ''] = match;
  const digits = whole! + fraction;
  if (digits === '') return null;
  return {
    isNegative: sign === 'n',
    digits: digits.startsWith('0') ? digits.replace(LEADING_ZEROS, '') : digits,
    places: fraction.length,
  };
}

export function makeUnits(): Service {
  return {
    resource: 'units',
    operation: 'get',
    enabled: true,
    about: UNITS_ABOUT,
    answer(params) {
      const [text] = params;
      if (text === undefined) return malformedAnswer('parameter');
      const expression = params.length > 1 ? 'value' : parseExpression(text.toLowerCase());
      if (typeof expression === 'string') return malformedAnswer(expression);
      const { value, conversion } = expression;
      const fields = {
        val: decimalText(value),
        from: conversion.from.slug,
        to: conversion.to.slug,
        res: linearText(value, conversion),
        cat: conversion.from.category,
      };
      return constant(fields, UNITS_ABOUT.ttl);
    },
  };
}
