import type { Clock } from '../../base/clock.ts';
import type { EncryptedKeySet } from '../../base/encrypted-keys.ts';
import { encryptKeySet, isCurrentFormat, openKeySet } from '../../dns/dnssec/keys/key-encryption.ts';
import {
  generateKeySet,
  KeyError,
  type KeySet,
  keySetData,
  readKeySet,
} from '../../dns/dnssec/keys/key-set.ts';
import type { Store } from '../../store/store.ts';
import { insertKeySet, readKeySets, replaceKeySet } from '../../store/tables/key-sets.ts';
import type { ZoneKeys } from './port.ts';

export interface DatabaseKeysOptions {
  readonly store: Pick<Store, 'read' | 'write'>;
  /** See `ENCRYPTION_KEY`. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** False: missing keys are an error. */
  readonly mayMake: boolean;
  /** The zone's keys of an earlier release, or null. Called only when the database has none. */
  readonly earlier?: (zone: string) => KeySet | null;
  /** This process stored the first key set of a zone. */
  readonly onStored?: (zone: string, origin: 'made' | 'imported') => void;
}

/** Keys in PostgreSQL, with encrypted private parts, shared by all its processes. */
export function databaseZoneKeys(options: DatabaseKeysOptions): ZoneKeys {
  const { store, key, clock } = options;
  const found = new Map<string, { readonly document: string; readonly keys: KeySet }>();

  async function find(zone: string): Promise<EncryptedKeySet | undefined> {
    return (await readKeySets(store.read, [zone]))[0];
  }

  async function create(zone: string): Promise<EncryptedKeySet> {
    if (!options.mayMake)
      throw new KeyError(
        `there are no signing keys of ${zone} yet; a process of the control role makes them`,
      );
    const earlier = options.earlier?.(zone) ?? null;
    const document = encryptKeySet(keySetData(earlier ?? generateKeySet(zone, clock())), key);
    const isStored = await store.write((tx) => insertKeySet(tx, zone, document, clock()));
    if (isStored) options.onStored?.(zone, earlier === null ? 'made' : 'imported');
    // Another process may have been first: all use the database's set.
    const stored = await find(zone);
    if (stored === undefined) throw new KeyError(`the signing keys of ${zone} could not be stored`);
    return stored;
  }

  function open({ zone, document }: EncryptedKeySet): KeySet {
    return readKeySet(openKeySet(zone, document, key));
  }

  /** Writes a set of an earlier format in the current one. If another process changed it meanwhile, that one wrote it. */
  async function renew(stored: EncryptedKeySet, keys: KeySet): Promise<void> {
    if (!options.mayMake || isCurrentFormat(stored.zone, stored.document)) return;
    const next = { ...stored, document: encryptKeySet(keySetData(keys), key) };
    await store.write((tx) => replaceKeySet(tx, next, clock()));
  }

  return {
    async find(zone) {
      const stored = await find(zone);
      if (stored === undefined) return null;
      const last = found.get(zone);
      if (last?.document === stored.document) return last.keys;
      const keys = open(stored);
      found.set(zone, { document: stored.document, keys });
      return keys;
    },
    async load(zone) {
      const stored = (await find(zone)) ?? (await create(zone));
      const keys = open(stored);
      await renew(stored, keys);
      return keys;
    },
    async update(zone, change) {
      const stored = (await find(zone)) ?? (await create(zone));
      const keys = open(stored);
      const result = change(keys);
      if (result.keys === keys) return result;
      const next = { ...stored, document: encryptKeySet(keySetData(result.keys), key) };
      if (await store.write((tx) => replaceKeySet(tx, next, clock()))) return result;
      throw new KeyError(`another process is changing the keys of ${zone}`);
    },
  };
}
