import type { Decimal } from './exact.ts';
import { CONVERSIONS, type Conversion, UNITS } from './units.ts';

/** `[n]` then digits with optional `d` digits, or `d` digits. */
const VALUE = /^(n?)([0-9]*)(?:d([0-9]+))?$/;
const EXPRESSION = /^([^-]+)-(([a-z0-9]{1,8})-to-([a-z0-9]{1,8}))$/;
const LEADING_ZEROS = /^0+(?=.)/;
/** A label has no more octets; what a `b32-` or `hex-` label holds is shorter. */
const EXPRESSION_MAX = 63;

export interface Expression {
  readonly value: Decimal;
  readonly conversion: Conversion;
}

/** `value`: the grammar; `unit`: not in the table; `units`: of different categories. */
export type ExpressionFault = 'value' | 'unit' | 'units';

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
