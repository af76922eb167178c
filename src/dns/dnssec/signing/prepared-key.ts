/** Private keys, ready to sign: Ed25519 with libsodium where that can be loaded, else with node:crypto. */

import type { KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';
import { algorithmOf, ED25519_NUMBER, SIGNATURE_OCTETS } from '../keys/algorithms.ts';
import type { ZoneKey } from '../keys/key-set.ts';

/** The part of the optional package `sodium-native` that signs. All memory is written in place. */
export interface Sodium {
  /** Locked memory between guard pages, overwritten when it is freed. */
  sodium_malloc(octets: number): Buffer;
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void;
  crypto_sign_detached(signature: Uint8Array, octets: Uint8Array, secretKey: Buffer): void;
}

/** Null where the package is missing or has no binary for this platform. Any number of threads may load it. */
export function loadSodium(name = 'sodium-native'): Sodium | null {
  try {
    return createRequire(import.meta.url)(name) as Sodium;
  } catch {
    return null;
  }
}

export type SigningKey = Pick<ZoneKey, 'algorithm' | 'keyTag' | 'privateKey'>;

export interface PreparedKey {
  readonly algorithm: number;
  readonly keyTag: number;
  /** Writes the signature of an RRSIG record, `SIGNATURE_OCTETS` long, to `out` at `at`. */
  sign(octets: Uint8Array, out: Uint8Array, at: number): void;
}

/** Octets of the two forms of an Ed25519 private key. The seed is the end of its PKCS #8 form (RFC 8410 §7). */
const SEED_OCTETS = 32;
const SECRET_OCTETS = 64;

/** One choice for the thread. Undefined: not made yet. */
let chosen: Sodium | null | undefined;

/** @param sodium null: node:crypto signs */
export function prepareKey(key: SigningKey, sodium = chosenSodium()): PreparedKey {
  const { algorithm, keyTag, privateKey } = key;
  const isEd25519 = algorithm === ED25519_NUMBER && privateKey.asymmetricKeyType === 'ed25519';
  if (isEd25519 && sodium !== null) return { algorithm, keyTag, sign: sodiumSign(privateKey, sodium) };
  return {
    algorithm,
    keyTag,
    sign: (octets, out, at) => algorithmOf(algorithm).sign(octets, privateKey, out, at),
  };
}

function chosenSodium(): Sodium | null {
  if (chosen === undefined) chosen = loadSodium();
  return chosen;
}

function sodiumSign(privateKey: KeyObject, sodium: Sodium): PreparedKey['sign'] {
  const secret = sodium.sodium_malloc(SECRET_OCTETS);
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  sodium.crypto_sign_seed_keypair(Buffer.alloc(SEED_OCTETS), secret, pkcs8.subarray(-SEED_OCTETS));
  pkcs8.fill(0);
  return (octets, out, at) => {
    sodium.crypto_sign_detached(out.subarray(at, at + SIGNATURE_OCTETS), octets, secret);
  };
}
