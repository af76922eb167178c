/** The keys of an hour. Batches of the hour are encrypted under one; destroyed keys make them unreadable. */
import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { decryptGcm, encryptGcm } from '../../base/aes-gcm.ts';
import { FeedRefusedError } from './refusal.ts';

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
 * The id is a hash of the key. AES-GCM alone does not bind a ciphertext to one key; with the id in the signed header it is.
 * @param secret 32 random octets
 */
export function feedKey(secret: Uint8Array): FeedKey {
  if (secret.length !== KEY_OCTETS) throw new RangeError(`a key of the feed has ${KEY_OCTETS} octets`);
  const hash = createHash('sha256').update('uqrp feed key\0').update(secret).digest();
  return { id: hash.subarray(0, KEY_ID_OCTETS), secret, cipherKey: createSecretKey(secret) };
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
