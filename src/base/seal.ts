/** The one place of AES-GCM. The formats around it (nonce, version, what is associated) belong to those who store or send it. */

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';

/** The recommended length for GCM, which it uses without hashing (NIST SP 800-38D §8.2). */
export const NONCE_OCTETS = 12;
export const TAG_OCTETS = 16;

/** 16 octets (AES-128) or 32 (AES-256). Octets cost each call 30 us to become a key object; encrypting a short text takes 10. */
type GcmKey = Uint8Array | KeyObject;

/** @returns ciphertext, then the tag. @param nonce 12 octets, used once under this key */
export function encryptGcm(
  key: GcmKey,
  nonce: Uint8Array,
  associated: Uint8Array,
  plain: Uint8Array,
): Buffer {
  const cipher = createCipheriv(cipherOf(key), key, nonce, { authTagLength: TAG_OCTETS });
  cipher.setAAD(associated);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** @returns null for what was not encrypted with this key, nonce and associated data, or was changed since */
export function decryptGcm(
  key: GcmKey,
  nonce: Uint8Array,
  associated: Uint8Array,
  encrypted: Uint8Array,
): Buffer | null {
  const end = encrypted.length - TAG_OCTETS;
  if (end < 0 || nonce.length !== NONCE_OCTETS) return null;
  const decipher = createDecipheriv(cipherOf(key), key, nonce, { authTagLength: TAG_OCTETS });
  decipher.setAAD(associated);
  decipher.setAuthTag(encrypted.subarray(end));
  const plain = decipher.update(encrypted.subarray(0, end));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return null;
  }
}

function cipherOf(key: GcmKey): 'aes-128-gcm' | 'aes-256-gcm' {
  const octets = key instanceof Uint8Array ? key.length : key.symmetricKeySize;
  return octets === 16 ? 'aes-128-gcm' : 'aes-256-gcm';
}

/** Encrypts short secrets for the database. */
export interface SecretEncryption {
  /** @param id of the row: the ciphertext decrypts only with the same one */
  encrypt(id: string, secret: string): Uint8Array;
  /** @throws when the ciphertext was made under another key or for another row */
  decrypt(id: string, encrypted: Uint8Array): string;
}

const KEY_OCTETS = 32;

/** Decryption costs as much as signing, so decrypted secrets are cached. The key is in memory as well. */
const CACHE_MAX = 1000;

/** First octet of the ciphertext: the rest is nonce, ciphertext, tag. */
const FORMAT_VERSION = 1;

/**
 * AES-256-GCM with the row's id as associated data: a ciphertext copied to another row does not decrypt. Random 96-bit
 * nonces allow 2^32 encryptions under one key (NIST SP 800-38D §8.3).
 * @param key 32 octets that are used for nothing else
 */
export function aesGcmEncryption(
  key: Uint8Array,
  random: (bytes: number) => Uint8Array,
  cacheMax = CACHE_MAX,
): SecretEncryption {
  if (key.length !== KEY_OCTETS) throw new Error(`the encryption key must have ${KEY_OCTETS} octets`);
  // Made once: from octets Node makes a key object at each call, which takes three times as long as the encryption.
  const keyObject = createSecretKey(key);
  const cache = new Map<string, { readonly encrypted: Uint8Array; readonly secret: string }>();

  function decryptUncached(id: string, encrypted: Uint8Array): string {
    if (encrypted[0] !== FORMAT_VERSION || encrypted.length < 1 + NONCE_OCTETS + TAG_OCTETS) {
      throw new Error('the encrypted secret has an unknown format');
    }
    const nonce = encrypted.subarray(1, 1 + NONCE_OCTETS);
    const secret = decryptGcm(
      keyObject,
      nonce,
      Buffer.from(id, 'utf8'),
      encrypted.subarray(1 + NONCE_OCTETS),
    );
    if (secret === null) throw new Error('the encrypted secret is of another key or row, or was changed');
    return secret.toString('utf8');
  }

  return {
    encrypt(id, secret) {
      const nonce = random(NONCE_OCTETS);
      const encrypted = encryptGcm(keyObject, nonce, Buffer.from(id, 'utf8'), Buffer.from(secret, 'utf8'));
      return Buffer.concat([Buffer.of(FORMAT_VERSION), nonce, encrypted]);
    },
    decrypt(id, encrypted) {
      const known = cache.get(id);
      if (known !== undefined && Buffer.compare(known.encrypted, encrypted) === 0) return known.secret;
      const secret = decryptUncached(id, encrypted);
      if (cache.size >= cacheMax) cache.clear();
      if (cacheMax > 0) cache.set(id, { encrypted: Uint8Array.from(encrypted), secret });
      return secret;
    },
  };
}

/** Octets of one draw: 341 nonces of AES-GCM. */
const DRAW = 4096;

/**
 * Gives slices of larger draws. For nonces, which are not secret: drawn one by one, 12 octets take 3 us, as long as the encryption.
 * @param random cryptographically strong octets
 * @returns octets that no other call has. The caller must not write to them
 */
export function randomPool(random: (bytes: number) => Uint8Array): (bytes: number) => Uint8Array {
  let drawn: Uint8Array = new Uint8Array(0);
  let used = 0;
  return (bytes) => {
    if (bytes > DRAW) return random(bytes);
    if (used + bytes > drawn.length) {
      drawn = random(DRAW);
      used = 0;
    }
    used += bytes;
    return drawn.subarray(used - bytes, used);
  };
}
