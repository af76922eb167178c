import type { KeySet } from '../../dns/dnssec/keys/key-set.ts';

/** Signing keys of the control side, in files of the data directory or in the database. */
export interface ZoneKeys {
  /** The keys of a zone, or null: none are made. @throws KeyError when the stored keys are unusable */
  find(zone: string): Promise<KeySet | null>;
  /**
   * The keys of a zone, made on first use. Processes that do this at once get the same ones.
   * @throws KeyError when the stored keys are unusable
   */
  load(zone: string): Promise<KeySet>;
  /**
   * Replaces the keys of a zone by the result of `change`, and returns it. Writes nothing when the set is the same.
   * @throws KeyError as `load`; and, with nothing written, when another process changes them at the same time
   */
  update<T extends { readonly keys: KeySet }>(zone: string, change: (keys: KeySet) => T): Promise<T>;
}
