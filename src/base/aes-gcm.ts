/** The one place of AES-GCM. The formats around it (nonce, version, what is associated) belong to those who store or send it. */
import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';

/** The recommended length for GCM, which it uses without hashing (NIST SP 800-38D §8.2). */
export const NONCE_OCTETS = 12;
export const TAG_OCTETS = 16;

/** 16 octets (AES-128) or 32 (AES-256). Octets cost each call 30 us to become a key object; encrypting a short text takes 10. */
export type GcmKey = Uint8Array | KeyObject;

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
