import type { Store } from '../control/store/store.ts';
import { insertKeySet, readKeySets, replaceKeySet } from '../control/store/tables/key-sets.ts';
import type { Clock } from '../core/clock.ts';
import type { SealedKeySet } from '../core/sealed-keys.ts';
import { isCurrentFormat, openKeySet, sealKeySet } from '../edge/dnssec/keys/key-encryption.ts';
import {
  generateKeySet,
  KeyError,
  type KeySet,
  keySetData,
  readKeySet,
} from '../edge/dnssec/keys/key-set.ts';
import type { ZoneKeys } from './port.ts';

export interface DatabaseKeysOptions {
  readonly store: Pick<Store, 'read' | 'write'>;
  /** See `SEALING_KEY`. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** False: missing keys are an error. */
  readonly mayMake: boolean;
  /** Keys that this zone had before the database kept them, or null. Asked only when the database has none. */
  readonly earlier?: (zone: string) => KeySet | null;
  /** This process has stored the first key set of a zone. */
  readonly onStored?: (zone: string, origin: 'made' | 'imported') => void;
}

/** Keys in the database, their private parts encrypted: for all processes over one PostgreSQL. */
export function databaseZoneKeys(options: DatabaseKeysOptions): ZoneKeys {
  const { store, key, clock } = options;

  async function find(zone: string): Promise<SealedKeySet | undefined> {
    return (await readKeySets(store.read, [zone]))[0];
  }

  async function create(zone: string): Promise<SealedKeySet> {
    if (!options.mayMake)
      throw new KeyError(
        `there are no signing keys of ${zone} yet; a process of the control role makes them`,
      );
    const earlier = options.earlier?.(zone) ?? null;
    const document = sealKeySet(keySetData(earlier ?? generateKeySet(zone, clock())), key);
    const isStored = await store.write((tx) => insertKeySet(tx, zone, document, clock()));
    if (isStored) options.onStored?.(zone, earlier === null ? 'made' : 'imported');
    // Another process may have been first: all take what the database has.
    const sealed = await find(zone);
    if (sealed === undefined) throw new KeyError(`the signing keys of ${zone} could not be stored`);
    return sealed;
  }

  function open({ zone, document }: SealedKeySet): KeySet {
    return readKeySet(openKeySet(zone, document, key));
  }

  /** Writes a set of an earlier format again. Where another process changed it meanwhile, that one has written it. */
  async function renew(sealed: SealedKeySet, keys: KeySet): Promise<void> {
    if (!options.mayMake || isCurrentFormat(sealed.zone, sealed.document)) return;
    const next = { ...sealed, document: sealKeySet(keySetData(keys), key) };
    await store.write((tx) => replaceKeySet(tx, next, clock()));
  }

  return {
    async load(zone) {
      const sealed = (await find(zone)) ?? (await create(zone));
      const keys = open(sealed);
      await renew(sealed, keys);
      return keys;
    },
    async update(zone, change) {
      const sealed = (await find(zone)) ?? (await create(zone));
      const keys = open(sealed);
      const result = change(keys);
      if (result.keys === keys) return result;
      const next = { ...sealed, document: sealKeySet(keySetData(result.keys), key) };
      if (await store.write((tx) => replaceKeySet(tx, next, clock()))) return result;
      throw new KeyError(`another process is changing the keys of ${zone}`);
    },
  };
}
