/** Domain names in wire form without compression (RFC 1035 §3.1). Case is kept; comparison folds ASCII only (RFC 4343). */

import { copyOctets } from './octets.ts';
import { afterName, HEADER_OCTETS } from './skim.ts';

/** Whole name with length octets and final zero (RFC 1035 §2.3.4). */
export const MAX_NAME_OCTETS = 255;
/** Without its length octet (RFC 1035 §2.3.4). */
export const MAX_LABEL_OCTETS = 63;

const POINTER = 0xc0;
/** A name has at most 127 labels, so a valid one needs at most 127 jumps. Bounds the cost of pointer chains. */
const MAX_JUMPS = 127;
const DOT = 0x2e;
const BACKSLASH = 0x5c;
/** Characters that a master file must escape. */
const SPECIAL = new Set('."\\();@$');
const OCTET_TEXT: readonly string[] = Array.from({ length: 256 }, (_, octet) => octetText(octet));

/** A..Z to a..z. Safe on length octets too: they are below 64, and 'A' is 65. */
export const LOWER = Uint8Array.from({ length: 256 }, (_, octet) =>
  octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet,
);

/** Filled by `expand` and copied before its caller returns. No `await` may occur in between. */
const scratch = new Uint8Array(MAX_NAME_OCTETS);

/** Expands the name at `offset` into `out`. Returns its octets, or -1 when it is malformed. */
function expand(bytes: Uint8Array, offset: number, end: number, out: Uint8Array): number {
  const limit = end < bytes.length ? end : bytes.length;
  let at = offset;
  let runStart = offset;
  let length = 0;
  let jumps = 0;
  while (at < limit) {
    const octet = bytes[at]!;
    if (octet === 0) {
      out[length] = 0;
      return length + 1;
    }
    if (octet >= POINTER) {
      if (at + 1 >= limit || ++jumps > MAX_JUMPS) return -1;
      const target = ((octet & 0x3f) << 8) | bytes[at + 1]!;
      // A pointer must point below the start of this run of labels, so no loop is possible. The header holds no names.
      if (target >= runStart || target < HEADER_OCTETS) return -1;
      runStart = target;
      at = target;
      continue;
    }
    // Plus one length octet and the final zero.
    if (octet > MAX_LABEL_OCTETS || length + octet + 2 > MAX_NAME_OCTETS) return -1;
    const labelEnd = at + 1 + octet;
    if (labelEnd > limit) return -1;
    while (at < labelEnd) out[length++] = bytes[at++]!;
  }
  return -1;
}

/**
 * Decompresses the name at `offset` (RFC 1035 §4.1.4) and returns the offset after it. Null when it passes `end` or 255
 * octets, has a reserved label type, or a pointer that does not point backwards.
 */
export function readName(
  bytes: Uint8Array,
  offset: number,
  end: number,
): { name: Uint8Array<ArrayBuffer>; next: number } | null {
  const length = expand(bytes, offset, end, scratch);
  if (length < 0) return null;
  return { name: copyOctets(scratch, 0, length), next: afterName(bytes, offset, end) };
}

/** The offset after the name, by the rules of `readName`, or -1. */
export function skipName(bytes: Uint8Array, offset: number, end: number): number {
  return expand(bytes, offset, end, scratch) < 0 ? -1 : afterName(bytes, offset, end);
}

/** The offset after an uncompressed name, or -1. For rdata outside a message, where pointers are invalid. */
export function skipPlainName(bytes: Uint8Array, offset: number, end: number): number {
  const limit = Math.min(end, bytes.length, offset + MAX_NAME_OCTETS);
  let at = offset;
  while (at < limit) {
    const octet = bytes[at]!;
    at += 1 + octet;
    if (octet === 0) return at;
    if (octet > MAX_LABEL_OCTETS) return -1;
  }
  return -1;
}

/** A lower-case copy (canonical form, RFC 4034 §6.2). */
export function foldName(name: Uint8Array): Uint8Array<ArrayBuffer> {
  const folded = new Uint8Array(name.length);
  putFolded(folded, 0, name);
  return folded;
}

/** Writes the name in lower case and returns the offset after it. */
export function putFolded(out: Uint8Array, at: number, name: Uint8Array): number {
  for (let i = 0; i < name.length; i++) out[at + i] = LOWER[name[i]!]!;
  return at + name.length;
}

/** Whether `name` equals `zone` or is below it. */
export function isSubdomain(name: Uint8Array, zone: Uint8Array): boolean {
  let at = 0;
  while (name.length - at > zone.length) at += 1 + name[at]!;
  return name.length - at === zone.length && isNameAt(name, at, zone);
}

/** Whether the octets from `at` on are the name, in any case of letters. */
export function isNameAt(octets: Uint8Array, at: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) {
    if (LOWER[octets[at + i]!] !== LOWER[name[i]!]) return false;
  }
  return true;
}

/** Labels without the root: 0 for `.`, 2 for `example.com.` (RFC 4034 §3.1.3, without its wildcard rule). */
export function labelCount(name: Uint8Array): number {
  let count = 0;
  for (let at = 0; name[at]! > 0; at += 1 + name[at]!) count++;
  return count;
}

function octetText(octet: number): string {
  if (octet < 0x21 || octet > 0x7e) return `\\${String(octet).padStart(3, '0')}`;
  const character = String.fromCharCode(octet);
  return SPECIAL.has(character) ? `\\${character}` : character;
}

/**
 * Parses an absolute name with `\X` and `\DDD` escapes; the trailing dot is optional. Null for an empty or over-long
 * label, an over-long name, a broken escape, or octets outside printable ASCII.
 */
export function nameFromText(text: string): Uint8Array<ArrayBuffer> | null {
  if (text === '.' || text === '') return new Uint8Array(1);
  // The longest valid text is 255 octets of `\DDD`.
  if (text.length > 4 * MAX_NAME_OCTETS) return null;
  const wire = new Uint8Array(text.length + 2);
  let labelAt = 0;
  let length = 1;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === DOT) {
      if (!closeLabel(wire, labelAt, length)) return null;
      labelAt = length++;
      at++;
      continue;
    }
    let octet = code;
    at++;
    if (code === BACKSLASH) {
      octet = escapedOctet(text, at);
      if (octet < 0) return null;
      at += isDigit(text.charCodeAt(at)) ? 3 : 1;
    } else if (code < 0x20 || code > 0x7e) {
      return null;
    }
    wire[length++] = octet;
  }
  // Without a trailing dot the last label is still open; with one, this octet is the final zero.
  if (length - labelAt > 1) {
    if (!closeLabel(wire, labelAt, length)) return null;
    length++;
  }
  return length > MAX_NAME_OCTETS ? null : copyOctets(wire, 0, length);
}

function closeLabel(wire: Uint8Array, labelAt: number, length: number): boolean {
  const octets = length - labelAt - 1;
  wire[labelAt] = octets;
  return octets >= 1 && octets <= MAX_LABEL_OCTETS;
}

/** The octet of the escape after the backslash, or -1. */
function escapedOctet(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (!isDigit(first)) return first >= 0x20 && first <= 0x7e ? first : -1;
  const second = text.charCodeAt(at + 1);
  const third = text.charCodeAt(at + 2);
  if (!isDigit(second) || !isDigit(third)) return -1;
  const octet = (first - 0x30) * 100 + (second - 0x30) * 10 + (third - 0x30);
  return octet <= 255 ? octet : -1;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The text of a well-formed uncompressed name, with its trailing dot. */
export function nameToText(name: Uint8Array): string {
  if (name[0] === 0) return '.';
  let text = '';
  let at = 0;
  while (at < name.length) {
    const octets = name[at++]!;
    if (octets === 0) break;
    for (const labelEnd = at + octets; at < labelEnd; at++) text += OCTET_TEXT[name[at]!]!;
    text += '.';
  }
  return text;
}
