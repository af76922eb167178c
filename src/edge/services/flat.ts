import { ENVELOPE_VERSION } from '../../core/brand.ts';

/** A number is printed as a plain decimal; undefined leaves the field out. */
export type FlatValue = string | number | undefined;

/** Fields in the order in which they are printed. */
export type FlatFields = Readonly<Record<string, FlatValue>>;

const HEAD = `v=${ENVELOPE_VERSION};s=ok;t=data`;
const NAME = /^[a-z][a-z0-9]*$/;
/** Characters that end a field, begin an escape, or are not printable ASCII. */
const UNSAFE = /[^\x20-\x24\x26-\x3a\x3c-\x7e]/gu;
/** Places after the point of a percentage. */
export const PERCENT_PLACES = 2;

/**
 * The TXT value of a computed answer: flat fields, no `d`. In a text `;`, `%`, control characters and all that is not ASCII are
 * percent-encoded as UTF-8 (RFC 3986 §2.1), so that no value can end its field.
 *
 * @throws RangeError for an invalid field name or a number that is not finite: faults of the service
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
  // A lone surrogate has no UTF-8.
  return text.toWellFormed().replace(UNSAFE, percentEncoded);
}

function percentEncoded(character: string): string {
  let out = '';
  for (const octet of Buffer.from(character, 'utf8')) {
    out += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

/** Reverses the escaping of `flatEnvelope`. */
export function unescaped(value: string): string {
  return value.includes('%') ? decodeURIComponent(value) : value;
}

/** The shortest decimal that reads back as the number, without an exponent; no `-0`. */
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

/** Rounded to so many places after the point; never `-0`. */
export function rounded(value: number, places: number): number {
  return Number(value.toFixed(places)) + 0;
}
