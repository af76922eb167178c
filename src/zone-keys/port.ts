import type { KeySet } from '../edge/dnssec/keys/key-set.ts';

/** Where the control side keeps the signing keys of its zones: files of the data directory, or the database. */
export interface ZoneKeys {
  /**
   * The keys of a zone, made on first use. Processes that do this at once end with the same ones.
   *
   * @throws KeyError when those that are there cannot be used
   */
  load(zone: string): Promise<KeySet>;
  /**
   * Replaces the keys of a zone by what `change` makes of them, and returns its result. Nothing is written when it gives back
   * the same set.
   *
   * @throws KeyError as `load`, and when another process changes them at the same time: nothing of this change is then kept
   */
  update<T extends { readonly keys: KeySet }>(zone: string, change: (keys: KeySet) => T): Promise<T>;
}
