import { createRequire } from 'node:module';

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
