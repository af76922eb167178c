/** The distinguished encoding rules (ITU-T X.690) that an X.509 certificate needs. Each function returns one element. */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Dates from 2050 on use the long form (RFC 5280 §4.1.2.5). */
const LONG_YEAR = 2050;

function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.of(tag), lengthOctets(body.length), body]);
}

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) octets.unshift(rest & 0xff);
  return Buffer.of(0x80 | octets.length, ...octets);
}

const sequence = (...items: readonly Uint8Array[]): Buffer => element(TAG.sequence, ...items);
const set = (...items: readonly Uint8Array[]): Buffer => element(TAG.set, ...items);
const octetString = (octets: Uint8Array): Buffer => element(TAG.octetString, octets);
const utf8 = (text: string): Buffer => element(TAG.utf8, Buffer.from(text));
const TRUE: Buffer = element(TAG.boolean, Buffer.of(0xff));

/** `[number]` with the content of a primitive type in place of its tag (IMPLICIT). */
const implicit = (number: number, content: Uint8Array): Buffer => element(0x80 | number, content);
/** `[number]` around whole elements (EXPLICIT, or a constructed IMPLICIT type). */
const explicit = (number: number, ...items: readonly Uint8Array[]): Buffer =>
  element(0xa0 | number, ...items);

/** A non-negative number of any length, most significant octet first. */
function integer(octets: Uint8Array): Buffer {
  let start = 0;
  while (start < octets.length - 1 && octets[start] === 0) start++;
  const digits = octets.subarray(start);
  // A set top bit would mean a negative number.
  return digits[0]! >= 0x80 ? element(TAG.integer, Buffer.of(0), digits) : element(TAG.integer, digits);
}

/** @param unused bits at the end of the last octet that are unused */
function bitString(octets: Uint8Array, unused = 0): Buffer {
  return element(TAG.bitString, Buffer.of(unused), octets);
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(TAG.oid, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(value: number): number[] {
  const octets = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) octets.unshift(0x80 | (rest & 0x7f));
  return octets;
}

/** @param at milliseconds since the epoch */
function time(at: number): Buffer {
  const date = new Date(at);
  const digits = `${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
  return date.getUTCFullYear() < LONG_YEAR
    ? element(TAG.utcTime, Buffer.from(digits.slice(2)))
    : element(TAG.generalizedTime, Buffer.from(digits));
}

export const der = {
  element,
  sequence,
  set,
  octetString,
  utf8,
  TRUE,
  implicit,
  explicit,
  integer,
  bitString,
  oid,
  time,
} as const;
