/** The fields that every message of the feed begins with: kind (4), version (1), flags (1), shard (2), signer (8). */

import { createHash, createSecretKey, type KeyObject, sign, verify } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { decryptGcm, encryptGcm } from '../../base/aes-gcm.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';

/** Hourly keys, secrets. */
export type SealedKind = 'UQFK' | 'UQFP';

/** Batch, head, those that are for one node; request of a node, and its answer (`feed/exchange`); manifest of a snapshot. */
type MessageKind = 'UQFB' | 'UQFH' | SealedKind | 'UQFN' | 'UQFA' | 'UQFS';

const VERSION = 1;
const KIND_OCTETS = 4;
const SIGNER_OCTETS = 8;
/** The only shard of this release. */
export const SHARD = 0;

interface Preamble {
  readonly flags: number;
  readonly shard: number;
}

/** Without any check: two kinds come at one subject. */
export function isKind(kind: MessageKind, message: Uint8Array): boolean {
  return Buffer.from(message.subarray(0, KIND_OCTETS)).toString('latin1') === kind;
}

export function writePreamble(kind: MessageKind, { flags, shard }: Preamble, signer: FeedSigner): Uint8Array {
  return Buffer.concat([Buffer.from(kind), field.u8(VERSION), field.u8(flags), field.u16(shard), signer.id]);
}

/**
 * Checks kind and version, then the signature, before any other field is looked at: a stranger's message costs no more.
 * @returns the message without its signature, and a reader of the fields after the preamble
 * @throws FeedRefusedError
 */
export function openSigned(
  kind: MessageKind,
  message: Uint8Array,
  verifier: FeedVerifier,
): Preamble & { readonly body: Uint8Array; readonly reader: FieldReader } {
  const body = verifier.open(message, (unverified) => read(kind, unverified).signer);
  const { reader, flags, shard } = read(kind, body);
  return { body, reader, flags, shard };
}

function read(
  kind: MessageKind,
  body: Uint8Array,
): Preamble & { readonly reader: FieldReader; readonly signer: Uint8Array } {
  const reader = fieldReader(body);
  if (reader.latin1(KIND_OCTETS) !== kind) throw new FeedRefusedError('format');
  if (reader.u8() !== VERSION) throw new FeedRefusedError('version');
  const [flags, shard] = [reader.u8(), reader.u16()];
  return { reader, flags, shard, signer: reader.bytes(SIGNER_OCTETS) };
}

/**
 * Ed25519 signatures (RFC 8032) over whole messages. A message names its signer by 8 octets, so that a node with two
 * public keys, during a rotation, tries one. Each kind of message begins with other octets, so that none passes for another.
 */

const SIGNATURE_OCTETS = 64;

export interface FeedSigner {
  readonly id: Uint8Array;
  /** The message followed by its signature. */
  sign(message: Uint8Array): Uint8Array;
}

/** @param privateKey Ed25519 */
export function feedSigner(privateKey: KeyObject, publicKey: KeyObject): FeedSigner {
  return {
    id: signerId(publicKey),
    sign: (message) => Buffer.concat([message, sign(null, message, privateKey)]),
  };
}

export interface FeedVerifier {
  /**
   * Splits off the signature and checks it.
   * @param signerOf reads the signer's id from a message that nobody has verified yet
   * @returns the message without its signature
   * @throws FeedRefusedError `size`, `signer` or `signature`, or what `signerOf` throws
   */
  open(signed: Uint8Array, signerOf: (message: Uint8Array) => Uint8Array): Uint8Array;
}

/** @param publicKeys Ed25519: the present key, and the next or former one */
export function feedVerifier(publicKeys: readonly KeyObject[]): FeedVerifier {
  const keys = new Map(publicKeys.map((key) => [hex(signerId(key)), key]));
  return {
    open(signed, signerOf) {
      if (signed.length <= SIGNATURE_OCTETS) throw new FeedRefusedError('size');
      const message = signed.subarray(0, signed.length - SIGNATURE_OCTETS);
      const key = keys.get(hex(signerOf(message)));
      if (key === undefined) throw new FeedRefusedError('signer');
      if (!verify(null, message, key, signed.subarray(message.length)))
        throw new FeedRefusedError('signature');
      return message;
    },
  };
}

function signerId(publicKey: KeyObject): Uint8Array {
  const raw = publicKey.export({ format: 'der', type: 'spki' });
  return createHash('sha256').update(raw).digest().subarray(0, SIGNER_OCTETS);
}

function hex(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}

/** Fields of fixed length, big-endian, with a position. The reader never reads past the end. */

const U64_OCTETS = 8;

export interface FieldReader {
  /** Octets that are left. */
  left(): number;
  u8(): number;
  u16(): number;
  u32(): number;
  /** At most 2^53 - 1. */
  u64(): number;
  /** A view of the message, not a copy. */
  bytes(length: number): Uint8Array;
  /** One character for each octet. */
  latin1(length: number): string;
  /** A length of one octet, then that many printable ASCII characters, at least one. */
  name(): string;
}

/** @throws FeedRefusedError from each function: `size` past the end, `format` for a value out of bounds */
export function fieldReader(message: Uint8Array): FieldReader {
  const view = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  let at = 0;
  function next(length: number): number {
    if (at + length > view.length) throw new FeedRefusedError('size');
    at += length;
    return at - length;
  }
  const latin1 = (length: number): string => {
    const from = next(length);
    return view.toString('latin1', from, from + length);
  };
  return {
    left: () => view.length - at,
    u8: () => view.readUInt8(next(1)),
    u16: () => view.readUInt16BE(next(2)),
    u32: () => view.readUInt32BE(next(4)),
    u64() {
      const value = view.readBigUInt64BE(next(U64_OCTETS));
      if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new FeedRefusedError('format');
      return Number(value);
    },
    bytes(length) {
      const from = next(length);
      return view.subarray(from, from + length);
    },
    latin1,
    name() {
      const text = latin1(view.readUInt8(next(1)));
      if (!NAME.test(text)) throw new FeedRefusedError('format');
      return text;
    },
  };
}

const NAME = /^[\x21-\x7e]{1,64}$/;

export const field = {
  u8: (value: number): Buffer => Buffer.of(value),
  u16(value: number): Buffer {
    const out = Buffer.alloc(2);
    out.writeUInt16BE(value);
    return out;
  },
  u32(value: number): Buffer {
    const out = Buffer.alloc(4);
    out.writeUInt32BE(value);
    return out;
  },
  u64(value: number): Buffer {
    const out = Buffer.alloc(U64_OCTETS);
    out.writeBigUInt64BE(BigInt(value));
    return out;
  },
  /** @throws RangeError unless 1 to 64 printable ASCII characters */
  name(text: string): Buffer {
    if (!NAME.test(text)) throw new RangeError('a name in the feed has 1 to 64 printable ASCII characters');
    return Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')]);
  },
};

/** zstd, with a bound on every length before memory is taken for it. */

/** 1 MB. Without this bound a frame may demand a window of 128 MB of the reader. */
const WINDOW_LOG = 20;
const COMPRESS = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: WINDOW_LOG },
};
const DECOMPRESS = { params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG } };

export function compress(plain: Uint8Array): Uint8Array {
  return zstdCompressSync(plain, COMPRESS);
}

/**
 * @param plainLength that the header states: at most this much memory is taken
 * @throws FeedRefusedError `decompress`, whatever the bytes are
 */
export function decompress(compressed: Uint8Array, plainLength: number): Buffer {
  let plain: Buffer;
  try {
    plain = zstdDecompressSync(compressed, { ...DECOMPRESS, maxOutputLength: plainLength });
  } catch {
    throw new FeedRefusedError('decompress');
  }
  if (plain.length !== plainLength) throw new FeedRefusedError('decompress');
  return plain;
}

/**
 * @param malformed the refusal of a text that is no JSON
 * @throws FeedRefusedError `decompress` or `malformed`, whatever the bytes are
 */
export function decompressJson(compressed: Uint8Array, plainLength: number, malformed: FeedRefusal): unknown {
  const plain = decompress(compressed, plainLength);
  try {
    return JSON.parse(plain.toString('utf8'));
  } catch {
    // The parser's message quotes the text.
    throw new FeedRefusedError(malformed);
  }
}

/** The keys of an hour. Batches of the hour are encrypted under one; destroyed keys make them unreadable. */

export const KEY_OCTETS = 32;
export const KEY_ID_OCTETS = 16;

export interface FeedKey {
  readonly id: Uint8Array;
  readonly secret: Uint8Array;
  /** The secret for ciphers. Given as octets, it costs each cipher 30 µs, and AES-GCM of a small batch takes 10. */
  readonly cipherKey: KeyObject;
}

/** The keys that a node holds at present. */
export interface FeedKeyRing {
  find(id: Uint8Array): FeedKey | null;
}

/**
 * The id is a digest of the key. AES-GCM alone does not bind a ciphertext to one key; with the id in the signed header it is.
 * @param secret 32 random octets
 */
export function feedKey(secret: Uint8Array): FeedKey {
  if (secret.length !== KEY_OCTETS) throw new RangeError(`a key of the feed has ${KEY_OCTETS} octets`);
  const digest = createHash('sha256').update('uqrp feed key\0').update(secret).digest();
  return { id: digest.subarray(0, KEY_ID_OCTETS), secret, cipherKey: createSecretKey(secret) };
}

export function feedKeyRing(keys: Iterable<FeedKey>): FeedKeyRing {
  const byId = new Map([...keys].map((key) => [Buffer.from(key.id).toString('hex'), key]));
  return { find: (id) => byId.get(Buffer.from(id).toString('hex')) ?? null };
}

/** @returns ciphertext and tag. @param nonce 12 octets, used once under this key */
export function encryptRows(
  key: FeedKey,
  nonce: Uint8Array,
  header: Uint8Array,
  plain: Uint8Array,
): Uint8Array {
  return encryptGcm(key.cipherKey, nonce, header, plain);
}

/** @throws FeedRefusedError `decrypt` */
export function decryptRows(
  key: FeedKey,
  nonce: Uint8Array,
  header: Uint8Array,
  encrypted: Uint8Array,
): Uint8Array {
  const plain = decryptGcm(key.cipherKey, nonce, header, encrypted);
  if (plain === null) throw new FeedRefusedError('decrypt');
  return plain;
}
