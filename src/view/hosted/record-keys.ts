import { hash } from 'node:crypto';
import { type Bytes, FIRST, type KeyRange } from '../lmdb/tree.ts';

/**
 * Keys of hosted records, namespaces and tokens in the view. A record's key is its labels in reverse, namespace before version, joined by
 * zero bytes (`b.a.res.ns.v1` is `ns v1 res a b`). Zero sorts below every letter, so a name and all names below it are adjacent, without
 * neighbours such as `res-2`. Other keys start with a byte that no label starts with. Namespaces and tokens sort after all records: a
 * rebuild in key order makes records reachable only once they are complete.
 */

const DIGEST_BYTES = 32;

/** A label's end, and the least byte greater than it, which ends a range. */
const BETWEEN = 0;
const AFTER = 1;

/** A name of 253 letters, a first byte, a zero and a digest; anything longer is not a name. */
const ROOM = 320;

/** LMDB copies a key before the next is made. A range needs two at a time. */
const scratch = new Uint8Array(ROOM);
const scratchEnd = new Uint8Array(ROOM);

function putText(out: Uint8Array, at: number, text: string, from: number, to: number): number {
  for (let i = from; i < to; i++) out[at++] = text.charCodeAt(i);
  return at;
}

/** Writes `namespace 0 version [0 label]*`; -1 for a name of fewer than two labels or of more than the maximum length. */
function putReversed(out: Uint8Array, name: string): number {
  const lastDot = name.lastIndexOf('.');
  if (lastDot <= 0 || name.length > 253) return -1;
  let dot = name.lastIndexOf('.', lastDot - 1);
  let at = putText(out, 0, name, dot + 1, lastDot);
  out[at++] = BETWEEN;
  at = putText(out, at, name, lastDot + 1, name.length);
  while (dot > 0) {
    const end = dot;
    dot = name.lastIndexOf('.', end - 1);
    out[at++] = BETWEEN;
    at = putText(out, at, name, dot + 1, end);
  }
  return at;
}

/** Valid until the next key is made, as are all keys below. Null when `key` cannot be a record's. */
export function recordTableKey(key: string): Bytes | null {
  const length = putReversed(scratch, key);
  return length < 0 ? null : scratch.subarray(0, length);
}

/** @param key a record's key of three or more labels */
export function recordVersionKey(key: string): Bytes {
  const lastDot = key.lastIndexOf('.');
  const dot = key.lastIndexOf('.', lastDot - 1);
  return pairKey(FIRST.version, key.slice(lastDot + 1), key.slice(dot + 1, lastDot));
}

export function pairKey(first: number, left: string, right: string): Bytes {
  scratch[0] = first;
  let at = putText(scratch, 1, left, 0, left.length);
  scratch[at++] = BETWEEN;
  at = putText(scratch, at, right, 0, right.length);
  return scratch.subarray(0, at);
}

/** @param name lower case, at most 63 letters; null when longer */
export function namespaceKey(name: string): Bytes | null {
  if (name.length > 63) return null;
  scratch[0] = FIRST.namespace;
  return scratch.subarray(0, putText(scratch, 1, name, 0, name.length));
}

/** @param name lower case, at most 63 letters; null when longer */
export function maxTtlKey(name: string): Bytes | null {
  const key = namespaceKey(name);
  if (key !== null) key[0] = FIRST.maxTtl;
  return key;
}

/** Octets of a digest of an expired record: enough that no two records share one. */
const EXPIRED_DIGEST_BYTES = 16;

/** A digest of a record that has expired: of its key, and of its namespace's id. One character for each octet. */
export function expiredDigest(key: string, namespaceId: string): string {
  return hash('sha256', `${namespaceId} ${key}`, 'latin1').slice(0, EXPIRED_DIGEST_BYTES);
}

export function expiredKey(digest: string): Bytes {
  scratch[0] = FIRST.expired;
  return scratch.subarray(0, putText(scratch, 1, digest, 0, digest.length));
}

export function isExpiredKey(key: Uint8Array | null): boolean {
  return key !== null && key[0] === FIRST.expired;
}

/** @param period number of a period of `LIMITS.expiredMinutes` */
export function expiredInKey(period: number, digest: string): Bytes {
  const at = putPeriod(scratch, period);
  return scratch.subarray(0, putText(scratch, at, digest, 0, digest.length));
}

/** Period and digest of a key made by `expiredInKey`. */
export function expiredInParts(key: Uint8Array): { readonly period: number; readonly digest: string } {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  return { period: bytes.readUInt32BE(1), digest: bytes.toString('latin1', 5) };
}

/** Keys, in order of time, of all records that expired before a period. */
export function expiredBefore(period: number): KeyRange {
  const from = putPeriod(scratch, 0);
  const to = putPeriod(scratchEnd, period);
  return { start: scratch.subarray(0, from), end: scratchEnd.subarray(0, to) };
}

function putPeriod(out: Uint8Array, period: number): number {
  out[0] = FIRST.expiredIn;
  for (let i = 0; i < 4; i++) out[1 + i] = period >>> (24 - 8 * i);
  return 5;
}

/** @param digest 64 hexadecimal letters; null when it has another length */
export function tokenKey(digest: string): Bytes | null {
  if (digest.length !== DIGEST_BYTES * 2) return null;
  scratch[0] = FIRST.token;
  return scratch.subarray(0, putDigest(1, digest));
}

export function tokenOfKey(namespace: string, digest: string): Bytes {
  scratch[0] = FIRST.tokenOf;
  const at = putText(scratch, 1, namespace, 0, namespace.length);
  scratch[at] = BETWEEN;
  return scratch.subarray(0, putDigest(at + 1, digest));
}

function putDigest(at: number, digest: string): number {
  for (let i = 0; i < digest.length; i += 2) {
    scratch[at++] = (nibble(digest.charCodeAt(i)) << 4) | nibble(digest.charCodeAt(i + 1));
  }
  return at;
}

function nibble(letter: number): number {
  return letter < 0x3a ? letter - 0x30 : letter - 0x57;
}

/** All keys that begin with the given text and a zero. */
function rangeOf(fill: (out: Uint8Array) => number): KeyRange {
  const at = fill(scratch);
  fill(scratchEnd);
  scratch[at] = BETWEEN;
  scratchEnd[at] = AFTER;
  return { start: scratch.subarray(0, at + 1), end: scratchEnd.subarray(0, at + 1) };
}

export function recordsOf(namespace: string): KeyRange {
  return rangeOf((out) => putText(out, 0, namespace, 0, namespace.length));
}

/** Keys of all records whose last two labels are those of `key`. */
export function recordsBeside(key: string): KeyRange {
  const dot = key.lastIndexOf('.', key.lastIndexOf('.') - 1);
  return rangeOf((out) => putReversed(out, key.slice(dot + 1)));
}

/** Keys of the index of a namespace's tokens. */
export function tokensOf(namespace: string): KeyRange {
  return rangeOf((out) => {
    out[0] = FIRST.tokenOf;
    return putText(out, 1, namespace, 0, namespace.length);
  });
}

/** The start of a search for a name and all below it: the first key found begins with `start`, or there is none. */
export function seekBelow(suffix: string): Bytes {
  if (suffix === '') return Uint8Array.of(FIRST.meta + 1);
  if (!suffix.includes('.')) return pairKey(FIRST.version, suffix, '');
  return recordTableKey(suffix) ?? Uint8Array.of(FIRST.filling);
}

/** Whether the first key from `seekBelow(suffix)` on is at or below the suffix. */
export function isBelow(found: Uint8Array, suffix: string): boolean {
  if (suffix === '') return found[0]! < FIRST.version;
  const prefix = seekBelow(suffix);
  if (prefix[0] === FIRST.filling || found.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (found[i] !== prefix[i]) return false;
  return prefix[0] === FIRST.version || found.length === prefix.length || found[prefix.length] === BETWEEN;
}

/** The second part of a key of two parts: a record's version, or what follows a namespace in its index. */
export function textParts(key: Uint8Array): readonly string[] {
  return Buffer.from(key).toString('latin1').split('\0');
}

/** The digest at the end of a key made by `tokenOfKey`, as lower-case hex. */
export function digestAtEnd(key: Uint8Array): string {
  return Buffer.from(key.subarray(key.length - DIGEST_BYTES)).toString('hex');
}
