import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EncryptedKeySet } from '../../core/encrypted-keys.ts';
import type { NodeKeys } from '../../feed/node-keys.ts';
import { openKeySet } from '../dnssec/keys/key-encryption.ts';
import { KeyError } from '../dnssec/keys/key-set.ts';
import type { KeyReading, ReadKeys } from './keys.ts';

interface SharedKeysOptions {
  readonly source: NodeKeys;
  readonly zones: readonly string[];
  /** See `ENCRYPTION_KEY`. */
  readonly key: Uint8Array;
}

/** Reads the key sets that the control side made. */
export function sharedKeys({ source, zones, key }: SharedKeysOptions): ReadKeys {
  return async () => encryptedReading(await source.keySets(zones), zones, key);
}

/** The mark is the encrypted sets as JSON, which is also the content of the copy on disk. */
function encryptedReading(
  sets: readonly EncryptedKeySet[],
  zones: readonly string[],
  key: Uint8Array,
): KeyReading {
  const ordered = zones.map((zone) => {
    const set = sets.find((each) => each.zone === zone);
    if (set !== undefined) return set;
    throw new KeyError(`nobody has made the signing keys of ${zone} yet; a process of the control role does`);
  });
  return {
    mark: JSON.stringify(ordered),
    open: () => ordered.map(({ zone, document }) => openKeySet(zone, document, key)),
  };
}

/** The encrypted key sets that were last in use, so that a node starts without the database. */
export interface KeyCopy {
  /** @throws KeyError when there is none, or a zone is missing */
  read: ReadKeys;
  write(reading: KeyReading): void;
}

const FILE = 'sealed-keys.json';
const FILE_MODE = 0o600;

export function keyCopy(dataDir: string, zones: readonly string[], key: Uint8Array): KeyCopy {
  const path = join(dataDir, FILE);
  return {
    async read() {
      let sets: readonly EncryptedKeySet[];
      try {
        sets = JSON.parse(readFileSync(path, 'utf8')) as readonly EncryptedKeySet[];
      } catch {
        // The error would quote the text.
        throw new KeyError(`there is no usable copy of the signing keys in ${FILE}`);
      }
      return encryptedReading(sets, zones, key);
    },
    write({ mark }) {
      const draft = `${path}.${randomBytes(6).toString('hex')}`;
      try {
        writeFileSync(draft, mark, { flag: 'wx', mode: FILE_MODE, flush: true });
        renameSync(draft, path);
      } finally {
        rmSync(draft, { force: true });
      }
    },
  };
}
