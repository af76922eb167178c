/**
 * Hybrid public key encryption (RFC 9180), mode Base, one message per encapsulated key: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 * AES-256-GCM. It does not authenticate the sender: sign the message.
 */
import { createHmac, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { decryptGcm, encryptGcm, NONCE_OCTETS } from '../../base/seal.ts';

interface Aead {
  /** RFC 9180 §7.3. */
  readonly id: number;
  readonly keyOctets: number;
}

const AES_256_GCM: Aead = { id: 2, keyOctets: 32 };
/** For the vectors of RFC 9180, appendix A.1. */
export const AES_128_GCM: Aead = { id: 1, keyOctets: 16 };

const KEM_ID = 0x0020;
const KDF_ID = 0x0001;
const MODE_BASE = 0;
const PUBLIC_KEY_OCTETS = 32;
const HASH_OCTETS = 32;
const NOTHING = Buffer.alloc(0);

interface HpkeText {
  /** What the message is for: the same for both sides. */
  readonly info: Uint8Array;
  /** Authenticated with the message, and sent beside it. */
  readonly associated: Uint8Array;
}

/** X25519. */
export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** @returns encapsulated key (32 octets), ciphertext, tag. @param ephemeral used for this message only */
export function hpkeEncrypt(
  recipient: KeyObject,
  { info, associated }: HpkeText,
  plain: Uint8Array,
  aead: Aead = AES_256_GCM,
  ephemeral: KeyPair = generateKeyPairSync('x25519'),
): Uint8Array {
  const encapsulated = rawPublicKey(ephemeral.publicKey);
  const dh = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: recipient });
  const { key, nonce } = keySchedule(dh, encapsulated, rawPublicKey(recipient), info, aead);
  return Buffer.concat([encapsulated, encryptGcm(key, nonce, associated, plain)]);
}

/** @returns null for a message that was not made for this key, `info` and `associated` */
export function hpkeDecrypt(
  privateKey: KeyObject,
  { info, associated }: HpkeText,
  message: Uint8Array,
  aead: Aead = AES_256_GCM,
): Uint8Array | null {
  if (message.length < PUBLIC_KEY_OCTETS) return null;
  const encapsulated = message.subarray(0, PUBLIC_KEY_OCTETS);
  try {
    // Fails for points of small order, whose result is zero (RFC 9180 §7.1.4).
    const dh = diffieHellman({ privateKey, publicKey: publicKeyOf(encapsulated) });
    const own = rawPublicKey(createPublicKey(privateKey));
    const { key, nonce } = keySchedule(dh, encapsulated, own, info, aead);
    return decryptGcm(key, nonce, associated, message.subarray(PUBLIC_KEY_OCTETS));
  } catch {
    return null;
  }
}

function keySchedule(
  dh: Uint8Array,
  encapsulated: Uint8Array,
  recipient: Uint8Array,
  info: Uint8Array,
  { id, keyOctets }: Aead,
): { key: Uint8Array; nonce: Uint8Array } {
  const kem = Buffer.concat([Buffer.from('KEM'), u16(KEM_ID)]);
  const shared = expand(
    kem,
    extract(kem, NOTHING, 'eae_prk', dh),
    'shared_secret',
    Buffer.concat([encapsulated, recipient]),
    HASH_OCTETS,
  );
  const suite = Buffer.concat([Buffer.from('HPKE'), u16(KEM_ID), u16(KDF_ID), u16(id)]);
  const context = Buffer.concat([
    Buffer.of(MODE_BASE),
    extract(suite, NOTHING, 'psk_id_hash', NOTHING),
    extract(suite, NOTHING, 'info_hash', info),
  ]);
  const secret = extract(suite, shared, 'secret', NOTHING);
  return {
    key: expand(suite, secret, 'key', context, keyOctets),
    nonce: expand(suite, secret, 'base_nonce', context, NONCE_OCTETS),
  };
}

/** LabeledExtract (RFC 9180 §4). */
function extract(suite: Uint8Array, salt: Uint8Array, label: string, input: Uint8Array): Buffer {
  return createHmac('sha256', salt).update('HPKE-v1').update(suite).update(label).update(input).digest();
}

/** LabeledExpand (RFC 9180 §4), for at most one block of the hash. */
function expand(suite: Uint8Array, key: Uint8Array, label: string, info: Uint8Array, length: number): Buffer {
  const hmac = createHmac('sha256', key).update(u16(length)).update('HPKE-v1').update(suite);
  return hmac.update(label).update(info).update(Buffer.of(1)).digest().subarray(0, length);
}

function u16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff);
}

/** The 32 octets of RFC 7748. */
function rawPublicKey(key: KeyObject): Buffer {
  const { x = '' } = key.export({ format: 'jwk' });
  return Buffer.from(x, 'base64url');
}

function publicKeyOf(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
}
