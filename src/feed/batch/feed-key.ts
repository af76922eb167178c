/** The keys of an hour. Batches of the hour are encrypted under one; destroyed keys make them unreadable. */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { FeedRefusedError } from './refusal.ts';

export const KEY_OCTETS = 32;
export const KEY_ID_OCTETS = 16;
/** The recommended length for GCM (NIST SP 800-38D §8.2). */
export const NONCE_OCTETS = 12;
export const TAG_OCTETS = 16;
const CIPHER = 'aes-256-gcm';

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
  const cipher = createCipheriv(CIPHER, key.cipherKey, nonce, { authTagLength: TAG_OCTETS });
  cipher.setAAD(header);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** @throws FeedRefusedError `decrypt` */
export function decryptRows(
  key: FeedKey,
  nonce: Uint8Array,
  header: Uint8Array,
  encrypted: Uint8Array,
): Uint8Array {
  const end = encrypted.length - TAG_OCTETS;
  if (end < 0) throw new FeedRefusedError('decrypt');
  const decipher = createDecipheriv(CIPHER, key.cipherKey, nonce, { authTagLength: TAG_OCTETS });
  decipher.setAAD(header);
  decipher.setAuthTag(encrypted.subarray(end));
  const plain = decipher.update(encrypted.subarray(0, end));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    throw new FeedRefusedError('decrypt');
  }
}
