import { ENVELOPE_VERSION } from '../base/brand.ts';

/** Numbers are printed as plain decimals; undefined omits the field. */
export type FlatValue = string | number | undefined;

export type FlatFields = Readonly<Record<string, FlatValue>>;

const HEAD = `v=${ENVELOPE_VERSION};s=ok;t=data`;
const NAME = /^[a-z][a-z0-9]*$/;
/** Characters that end a field, start an escape, or are not printable ASCII. */
const UNSAFE = /[^\x20-\x24\x26-\x3a\x3c-\x7e]/gu;
export const PERCENT_PLACES = 2;

/**
 * The TXT value of a computed answer. `;`, `%`, control characters and non-ASCII text are percent-encoded as UTF-8 (RFC
 * 3986 §2.1). Throws RangeError for an invalid field name or a number that is not finite.
 */
export function flatEnvelope(fields: FlatFields): Buffer {
  let text = HEAD;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!NAME.test(name)) throw new RangeError('not a field name');
    text += `;${name}=${typeof value === 'number' ? decimal(value) : escaped(value)}`;
  }
  return Buffer.from(text, 'latin1');
}

function escaped(text: string): string {
  // A lone surrogate has no UTF-8 form.
  return text.toWellFormed().replace(UNSAFE, percentEncoded);
}

function percentEncoded(character: string): string {
  let out = '';
  for (const octet of Buffer.from(character, 'utf8')) {
    out += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

export function unescaped(value: string): string {
  return value.includes('%') ? decodeURIComponent(value) : value;
}

/** The shortest decimal that parses to the same number, without exponent or `-0`. */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError('not a finite number');
  const text = String(value === 0 ? 0 : value);
  const at = text.indexOf('e');
  if (at < 0) return text;
  const exponent = Number(text.slice(at + 1));
  const [whole = '', fraction = ''] = text.slice(0, at).split('.');
  if (exponent > 0) return whole + fraction.padEnd(exponent, '0');
  const sign = whole.startsWith('-') ? '-' : '';
  return `${sign}0.${'0'.repeat(-exponent - 1)}${whole.slice(sign.length)}${fraction}`;
}

/** Rounded to `places` decimals; never `-0`. */
export function rounded(value: number, places: number): number {
  return Number(value.toFixed(places)) + 0;
}
