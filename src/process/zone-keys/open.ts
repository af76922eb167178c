import { dirname } from 'node:path';
import { systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import {
  DecryptError,
  encryptKeySet,
  isCurrentFormat,
  keyFile,
  keyText,
  openKeySet,
  parseKeys,
} from '../../dns/dnssec/key-files.ts';
import { generateKeySet, KeyError, type KeySet, keySetData, readKeySet } from '../../dns/dnssec/key-set.ts';
import { ConfigError } from '../../ops/config/config.ts';
import { type EncryptedKeySet, insertKeySet, readKeySets, replaceKeySet } from '../../store/server-keys.ts';
import type { Store } from '../../store/store.ts';
import { fileZoneKeys, type ZoneKeys } from './control-secrets.ts';

interface DatabaseKeysOptions {
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
    const document = encryptKeySet(keySetData(keys), key);
    await store.write((tx) => replaceKeySet(tx, stored, document, clock()));
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
      const document = encryptKeySet(keySetData(result.keys), key);
      if (await store.write((tx) => replaceKeySet(tx, stored, document, clock()))) return result;
      throw new KeyError(`another process is changing the keys of ${zone}`);
    },
  };
}

interface ZoneKeysOptions {
  readonly dataDir: string;
  readonly store: Pick<Store, 'engine' | 'read' | 'write'>;
  /** See `ENCRYPTION_KEY`. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** False in a process of the edge role: missing keys are then an error. */
  readonly mayMake: boolean;
  readonly onStored?: (zone: string, origin: 'made' | 'imported') => void;
}

/** Zone keys in the database where processes share one, else in the data directory. */
export function openZoneKeys({ dataDir, onStored, ...options }: ZoneKeysOptions): ZoneKeys {
  if (options.store.engine !== 'postgres') return fileZoneKeys(dataDir, options.clock);
  return databaseZoneKeys({
    ...options,
    // Earlier releases kept the keys in the data directory.
    earlier(zone) {
      const text = keyText(dataDir, zone);
      return text === null ? null : parseKeys(text, zone);
    },
    onStored(zone, origin) {
      const path = keyFile(dataDir, zone);
      if (origin === 'imported') {
        systemFiles.rename(path, `${path}.imported`);
        systemFiles.syncFolder(dirname(path));
      }
      onStored?.(zone, origin);
    },
  });
}

/** Rejection handler: reports keys that cannot be decrypted as a configuration fault, and rethrows anything else. */
export function refuseSecret(error: unknown): never {
  if (!(error instanceof DecryptError)) throw error;
  throw new ConfigError([
    `UQRP_SECRET must be the one of the other processes: ${error.message}. Copy it from the control process`,
  ]);
}
