/** What messages are signed with, and the hourly keys that their bodies are encrypted under. */
import { createHash, createSecretKey, type KeyObject, sign, verify } from 'node:crypto';
import { decryptGcm, encryptGcm } from '../../base/seal.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

/**
 * Ed25519 signatures (RFC 8032) over whole messages. A message names its signer by 8 octets, so that a node with two
 * public keys, during a rotation, tries one. The kind is among
 * what is signed, so that no message passes for another.
 */

export const FEED_SIGNATURE_OCTETS = 64;
export const SIGNER_OCTETS = 8;

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
      if (signed.length <= FEED_SIGNATURE_OCTETS) throw new FeedRefusedError('size');
      const message = signed.subarray(0, signed.length - FEED_SIGNATURE_OCTETS);
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

/** The keys of an hour. Batches of the hour are encrypted under one; destroyed keys make them unreadable. */

export const FEED_KEY_OCTETS = 32;
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
  if (secret.length !== FEED_KEY_OCTETS)
    throw new RangeError(`a key of the feed has ${FEED_KEY_OCTETS} octets`);
  const digest = createHash('sha256').update('uqrp feed key\0').update(secret).digest();
  return { id: digest.subarray(0, KEY_ID_OCTETS), secret, cipherKey: createSecretKey(secret) };
}

export function feedKeyRing(keys: Iterable<FeedKey>): FeedKeyRing {
  const byId = new Map([...keys].map((key) => [Buffer.from(key.id).toString('hex'), key]));
  return { find: (id) => byId.get(Buffer.from(id).toString('hex')) ?? null };
}

/** @returns ciphertext and tag. @param nonce 12 octets, used once under this key */
export function encryptBody(
  key: FeedKey,
  nonce: Uint8Array,
  header: Uint8Array,
  plain: Uint8Array,
): Uint8Array {
  return encryptGcm(key.cipherKey, nonce, header, plain);
}

/** @throws FeedRefusedError `decrypt` */
export function decryptBody(
  key: FeedKey,
  nonce: Uint8Array,
  header: Uint8Array,
  encrypted: Uint8Array,
): Uint8Array {
  const plain = decryptGcm(key.cipherKey, nonce, header, encrypted);
  if (plain === null) throw new FeedRefusedError('decrypt');
  return plain;
}
