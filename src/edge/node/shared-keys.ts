import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SealedKeySet } from '../../core/sealed-keys.ts';
import type { NodeKeys } from '../../feed/node-keys.ts';
import { openKeySet } from '../dnssec/keys/key-encryption.ts';
import { KeyError } from '../dnssec/keys/key-set.ts';
import type { KeyReading, ReadKeys } from './keys.ts';

interface SharedKeysOptions {
  readonly source: NodeKeys;
  readonly zones: readonly string[];
  /** See `SEALING_KEY`. */
  readonly key: Uint8Array;
}

/** Key sets that the control side made, from where all nodes read them. */
export function sharedKeys({ source, zones, key }: SharedKeysOptions): ReadKeys {
  return async () => sealedReading(await source.keySets(zones), zones, key);
}

/** The mark is the sealed sets as JSON: what the copy on disk holds. */
function sealedReading(sets: readonly SealedKeySet[], zones: readonly string[], key: Uint8Array): KeyReading {
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

/** The last key sets that were in use, sealed as they came, so that a node starts while the database is gone. */
export interface KeyCopy {
  /** @throws KeyError when there is none, or it does not have all zones */
  read: ReadKeys;
  write(reading: KeyReading): void;
}

const FILE = 'sealed-keys.json';
const FILE_MODE = 0o600;

export function keyCopy(dataDir: string, zones: readonly string[], key: Uint8Array): KeyCopy {
  const path = join(dataDir, FILE);
  return {
    async read() {
      let sets: readonly SealedKeySet[];
      try {
        sets = JSON.parse(readFileSync(path, 'utf8')) as readonly SealedKeySet[];
      } catch {
        // The error would quote the text.
        throw new KeyError(`there is no usable copy of the signing keys in ${FILE}`);
      }
      return sealedReading(sets, zones, key);
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
