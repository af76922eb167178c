/** Compact denial of existence (RFC 9824): one NSEC record that covers only the name asked for. */

import { foldName, MAX_LABEL_OCTETS, MAX_NAME_OCTETS, putFolded } from '../../protocol/dns/name.ts';
import { concatOctets } from '../../protocol/dns/octets.ts';

const SMALLEST_LABEL = Uint8Array.of(1, 0);
const MAX_OCTET = 0xff;
/** `@`, the octet before the upper-case letters, which canonical form lacks: `[` comes after it. */
const BEFORE_UPPER_CASE = 0x40;
const AFTER_UPPER_CASE = 0x5b;
const WINDOW_OCTETS = 32;

/** Bitmaps of the lists of types that denials use again and again. */
const bitmaps = new WeakMap<readonly number[], Uint8Array>();

/**
 * NSEC rdata (RFC 4034 §4.1) at `qname`, with its next name and these types, in any order. It is in Node's pool: copy
 * what is kept for long.
 */
export function nsecRdata(qname: Uint8Array, types: readonly number[], apex: Uint8Array): Uint8Array {
  const bitmap = bitmapOf(types);
  if (!hasChild(qname)) return concatOctets([nextName(qname, apex), bitmap]);
  const rdata = Buffer.allocUnsafe(SMALLEST_LABEL.length + qname.length + bitmap.length);
  rdata.set(SMALLEST_LABEL);
  rdata.set(bitmap, putFolded(rdata, SMALLEST_LABEL.length, qname));
  return rdata;
}

function bitmapOf(types: readonly number[]): Uint8Array {
  const known = bitmaps.get(types);
  if (known !== undefined) return known;
  const bitmap = typeBitmap(types);
  bitmaps.set(types, bitmap);
  return bitmap;
}

/** Whether `\000.name` is not too long. */
function hasChild(name: Uint8Array): boolean {
  return SMALLEST_LABEL.length + name.length <= MAX_NAME_OCTETS;
}

/**
 * The name after `qname` in canonical order, in lower case: `\000.qname` (RFC 9824 §3.1). When that is too long it is
 * the next sibling (RFC 4471 §3.1.2): the first label with `\000` added; else its last octet that can be raised is
 * raised and the rest dropped; else the same one label up. After the last name comes the apex.
 */
export function nextName(qname: Uint8Array, apex: Uint8Array): Uint8Array {
  const name = foldName(qname);
  if (hasChild(name)) return concatOctets([SMALLEST_LABEL, name]);
  let at = 0;
  while (name.length - at > apex.length) {
    const octets = name[at]!;
    const label = name.subarray(at + 1, at + 1 + octets);
    const above = name.subarray(at + 1 + octets);
    const sibling = nextLabel(label, Math.min(MAX_LABEL_OCTETS, MAX_NAME_OCTETS - above.length - 1));
    if (sibling !== null) return concatOctets([Uint8Array.of(sibling.length), sibling, above]);
    at += 1 + octets;
  }
  return foldName(apex);
}

/** The next label of at most `limit` octets; null after the last. */
function nextLabel(label: Uint8Array, limit: number): Uint8Array | null {
  if (label.length < limit) return concatOctets([label, Uint8Array.of(0)]);
  for (let i = label.length - 1; i >= 0; i--) {
    const octet = label[i]!;
    if (octet === MAX_OCTET) continue;
    const raised = octet === BEFORE_UPPER_CASE ? AFTER_UPPER_CASE : octet + 1;
    return concatOctets([label.subarray(0, i), Uint8Array.of(raised)]);
  }
  return null;
}

/**
 * The type bitmap (RFC 4034 §4.1.2): number, length and bits of each window of 256 types that has any.
 * @throws RangeError for a type outside 1 to 65535
 */
export function typeBitmap(types: readonly number[]): Uint8Array {
  const windows = new Map<number, Uint8Array>();
  for (const type of types) {
    if (!Number.isInteger(type) || type < 1 || type > 0xffff) throw new RangeError(`no such type: ${type}`);
    const bits = windows.get(type >>> 8) ?? new Uint8Array(WINDOW_OCTETS);
    bits[(type & 0xff) >>> 3]! |= 0x80 >>> (type & 7);
    windows.set(type >>> 8, bits);
  }
  const parts = [...windows]
    .sort(([a], [b]) => a - b)
    .map(([window, bits]) => {
      const used = bits.findLastIndex((octet) => octet !== 0) + 1;
      return concatOctets([Uint8Array.of(window, used), bits.subarray(0, used)]);
    });
  return concatOctets(parts);
}
