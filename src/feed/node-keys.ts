import type { SealedKeySet } from '../core/sealed-keys.ts';

/** Where a node of the edge role gets the signing keys of its zones. It never makes any. */
export interface NodeKeys {
  /** The newest set of each zone that has one, in any order. Rejects when the source cannot be reached. */
  keySets(zones: readonly string[]): Promise<readonly SealedKeySet[]>;
}
