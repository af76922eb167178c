import { createSecretKey } from 'node:crypto';
import { decryptGcm, encryptGcm, NONCE_OCTETS, TAG_OCTETS } from './aes-gcm.ts';

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
