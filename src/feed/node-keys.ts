import type { EncryptedKeySet } from '../core/encrypted-keys.ts';

/** Gives a node of the edge role its signing keys. It never makes any. */
export interface NodeKeys {
  /** The newest set of each zone that has one, in any order. Rejects when the source cannot be reached. */
  keySets(zones: readonly string[]): Promise<readonly EncryptedKeySet[]>;
}
