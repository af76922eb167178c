import type { HostedNamespace, HostedRecord, HostedToken } from '../view.ts';

/**
 * Values of the LMDB view. A record is a byte of flags, the fields that they announce, and the payload. 300 bytes with
 * default TTL and no expiry take 301: page fill decides how much memory a node needs.
 */

/** Formats by code, up to 30; only ever append. Code 0: spelled out, a length byte and letters. */
const FORMATS = [
  '',
  'bin',
  'json',
  'text',
  'xml',
  'html',
  'yaml',
  'csv',
  'cbor',
  'toml',
  'pdf',
  'js',
  'css',
  'md',
  'png',
  'jpeg',
  'gif',
  'webp',
  'svg',
] as const;

const CODE_OF: ReadonlyMap<string, number> = new Map(FORMATS.map((format, code) => [format, code]));

const FORMAT_BITS = 0x1f;
/** Instead of a record: its format would be 31, which none has. */
export const WITHHELD: Uint8Array = Buffer.of(FORMAT_BITS);
/** The payload is plain text. */
const IS_PLAIN = 0x20;
/** Six bytes of milliseconds follow: enough for the year 9999. */
const HAS_EXPIRY = 0x40;
/** Four bytes of seconds follow; otherwise the TTL is the default. */
const HAS_TTL = 0x80;
const COMMON_TTL = 300;

/** Longest head: flags, length byte and seven letters, TTL, expiry; a payload is at most 2,586 bytes. */
const scratch = Buffer.alloc(4096);

const PUBLIC_READ = 1;
const SUSPENDED = 2;

/** Valid until the next value is made, as are all values below. @throws RangeError when it would not fit 4,096 bytes */
export function encodeRecord({ data, plain, format, ttlSeconds, expiresAt }: HostedRecord): Buffer {
  const code = CODE_OF.get(format) ?? 0;
  const hasTtl = ttlSeconds !== COMMON_TTL;
  const hasExpiry = expiresAt !== null;
  scratch[0] = code | (plain ? IS_PLAIN : 0) | (hasExpiry ? HAS_EXPIRY : 0) | (hasTtl ? HAS_TTL : 0);
  let at = 1;
  if (code === 0) {
    scratch[at] = scratch.write(format, at + 1, 'latin1');
    at += 1 + format.length;
  }
  if (hasTtl) at = scratch.writeUInt32BE(ttlSeconds, at);
  if (hasExpiry) at = scratch.writeUIntBE(expiresAt, at, 6);
  scratch.set(data, at);
  return scratch.subarray(0, at + data.length);
}

/** @param bytes may be overwritten by the next read: the payload is copied */
export function decodeRecord(bytes: Buffer): HostedRecord | 'withheld' {
  const length = bytes.length;
  const flags = bytes[0]!;
  if (flags === WITHHELD[0] && length === 1) return 'withheld';
  const code = flags & FORMAT_BITS;
  let format: string = FORMATS[code] ?? 'bin';
  let at = 1;
  if (code === 0) {
    const end = 2 + bytes[1]!;
    format = bytes.toString('latin1', 2, end);
    at = end;
  }
  let ttlSeconds = COMMON_TTL;
  if ((flags & HAS_TTL) !== 0) {
    ttlSeconds = bytes.readUInt32BE(at);
    at += 4;
  }
  let expiresAt: number | null = null;
  if ((flags & HAS_EXPIRY) !== 0) {
    expiresAt = bytes.readUIntBE(at, 6);
    at += 6;
  }
  const data = Buffer.allocUnsafe(length - at);
  data.set(bytes.subarray(at, length));
  return { data, plain: (flags & IS_PLAIN) !== 0, format, ttlSeconds, expiresAt };
}

/** The id is text: its lookup on the query path then is one copy. */
export function encodeNamespace({ id, publicRead, suspended }: HostedNamespace): Buffer {
  scratch[0] = (publicRead ? PUBLIC_READ : 0) | (suspended ? SUSPENDED : 0);
  return scratch.subarray(0, 1 + scratch.write(id, 1, 'latin1'));
}

export function decodeNamespace(bytes: Buffer): HostedNamespace {
  const flags = bytes[0]!;
  return {
    id: bytes.toString('latin1', 1, bytes.length),
    publicRead: (flags & PUBLIC_READ) !== 0,
    suspended: (flags & SUSPENDED) !== 0,
  };
}

export function encodeToken({ namespace, expiresAt }: HostedToken): Buffer {
  scratch.writeDoubleBE(expiresAt, 0);
  return scratch.subarray(0, 8 + scratch.write(namespace, 8, 'latin1'));
}

export function decodeToken(bytes: Buffer): HostedToken {
  return { namespace: bytes.toString('latin1', 8, bytes.length), expiresAt: bytes.readDoubleBE(0) };
}

/** Seconds of a TTL, or the number of a period of time. */
export function encodeNumber(number: number): Buffer {
  return scratch.subarray(0, scratch.writeUInt32BE(number, 0));
}

export function decodeNumber(bytes: Buffer): number {
  return bytes.readUInt32BE(0);
}
