export const BASE_MIN = 2;
export const BASE_MAX = 36;
/** A label has no more octets; what a `b32-` or `hex-` label holds is shorter. */
const EXPRESSION_MAX = 63;
const DECIMAL = 10;

const NAMED_BASES: ReadonlyMap<string, number> = new Map([
  ['bin', 2],
  ['oct', 8],
  ['dec', DECIMAL],
  ['hex', 16],
]);
const EXPRESSION = /^([n-]?)([0-9a-z]+?)(?:-([0-9a-z]{1,3}))?-to-([0-9a-z]{1,3})$/;
const BASE = /^[1-9][0-9]?$/;
/** From this base on `n` is a digit (23), and not the minus sign. */
const N_IS_A_DIGIT = 24;

export interface BaseChange {
  readonly value: bigint;
  readonly from: number;
  readonly to: number;
}

/** `value`: the grammar, or a digit that the base has not; `base`: not 2 to 36. */
export type BaseFault = 'value' | 'base';

/** Parses `<digits>[-<base>]-to-<base>`, in lower case; bases are numbers or `bin`, `oct`, `dec`, `hex`. */
export function parseBaseChange(text: string): BaseChange | BaseFault {
  const match = text.length > EXPRESSION_MAX ? null : EXPRESSION.exec(text);
  if (match === null) return 'value';
  const [, sign = '', digits = '', fromText = 'dec', toText = ''] = match;
  const from = parseBase(fromText);
  const to = parseBase(toText);
  if (from === null || to === null) return 'base';
  const isDigit = sign === 'n' && from >= N_IS_A_DIGIT;
  const size = parseDigits(isDigit ? sign + digits : digits, from);
  if (size === null) return 'value';
  return { value: sign === '' || isDigit ? size : -size, from, to };
}

function parseBase(text: string): number | null {
  const named = NAMED_BASES.get(text);
  if (named !== undefined) return named;
  const base = BASE.test(text) ? Number(text) : 0;
  return base >= BASE_MIN && base <= BASE_MAX ? base : null;
}

function parseDigits(text: string, base: number): bigint | null {
  let value = 0n;
  for (const letter of text) {
    const digit = Number.parseInt(letter, BASE_MAX);
    if (digit >= base) return null;
    value = value * BigInt(base) + BigInt(digit);
  }
  return value;
}
