/** Key sets on disk: `<dataDir>/keys/<zone>.json`, mode 0600, always replaced whole. */

import { join } from 'node:path';
import { realRandom } from '../../base/chance.ts';
import {
  createFileSync,
  type Files,
  makeFolderSync,
  readIfThere,
  replaceFileSync,
  systemFiles,
} from '../../base/files.ts';
import { decryptGcm, encryptGcm, NONCE_OCTETS } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import {
  generateKeySet,
  KeyError,
  type KeySet,
  type KeySetData,
  keySetData,
  readKeySet,
  type ZoneKeyData,
} from './key-set.ts';

const FOLDER = 'keys';
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Milliseconds. A change takes a few: an older lock was left by a process that died. */
const LOCK_LIFE_MS = 60_000;
/** Zones are host names, so that a zone is a safe file name. */
const ZONE = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;

export function keyFile(dataDir: string, zone: string): string {
  if (!ZONE.test(zone)) throw new RangeError('a zone is a host name in lower case');
  return join(dataDir, FOLDER, `${zone}.json`);
}

/**
 * The keys of a zone, made on first use. Processes that start together end with the same ones.
 * @throws KeyError when the file is no key set of this zone
 */
export function loadKeys(dataDir: string, zone: string, clock: Clock, files: Files = systemFiles): KeySet {
  const path = keyFile(dataDir, zone);
  const text = readIfThere(path, files) ?? createFirst(dataDir, path, zone, clock, files);
  try {
    return parseKeys(text, zone);
  } catch (error) {
    const what = (error as Error).message;
    throw new KeyError(
      `${path}: ${what}. Put it back from a backup: with other keys a delegated zone fails.`,
    );
  }
}

/** New keys in place of those that PostgreSQL took over would make a delegated zone fail. */
function createFirst(dataDir: string, path: string, zone: string, clock: Clock, files: Files): string {
  const taken = `${path}.imported`;
  if (files.facts(taken) !== null) {
    throw new KeyError(
      `the keys of ${zone} went into PostgreSQL. Set UQRP_DATABASE_URL; or, to serve from SQLite again, rename ${taken} to ${path}.`,
    );
  }
  makeFolderSync(join(dataDir, FOLDER), FOLDER_MODE, files);
  // The name of a key file is on disk before its keys are used.
  return createFileSync(path, keyFileText(generateKeySet(zone, clock())), FILE_MODE, files);
}

/** The text of a zone's key file, or null. Secret. */
export function keyText(dataDir: string, zone: string): string | null {
  return readIfThere(keyFile(dataDir, zone));
}

/**
 * Replaces the keys of a zone by the result of `change`, and returns that result. Writes nothing when the set is the
 * same. Processes exclude each other by a lock file.
 * @throws KeyError as `loadKeys`, and when another process is changing them
 */
export function updateKeys<T extends { readonly keys: KeySet }>(
  dataDir: string,
  zone: string,
  clock: Clock,
  change: (keys: KeySet) => T,
  files: Files = systemFiles,
): T {
  loadKeys(dataDir, zone, clock, files);
  const path = keyFile(dataDir, zone);
  const lock = `${path}.lock`;
  takeLock(lock, zone, clock(), files);
  try {
    // Read under the lock: another process may have written before.
    const keys = loadKeys(dataDir, zone, clock, files);
    const result = change(keys);
    if (result.keys !== keys) replaceFileSync(path, keyFileText(result.keys), FILE_MODE, files);
    return result;
  } finally {
    files.remove(lock);
  }
}

function keyFileText(keys: KeySet): string {
  return `${JSON.stringify(keySetData(keys), null, 2)}\n`;
}

/** @throws KeyError when the text is no key set of this zone */
export function parseKeys(text: string, zone: string): KeySet {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new KeyError(`the key file of ${zone} is not JSON`);
  }
  const keys = readKeySet(data);
  if (keys.zone !== zone) throw new KeyError(`the key file of ${zone} holds the keys of another zone`);
  return keys;
}

function takeLock(lock: string, zone: string, now: number, files: Files): void {
  if (tryLock(lock, files)) return;
  const held = files.facts(lock);
  if (held === null || now - held.changedMs >= LOCK_LIFE_MS) {
    files.remove(lock);
    if (tryLock(lock, files)) return;
  }
  throw new KeyError(`another process is changing the keys of ${zone}`);
}

function tryLock(lock: string, files: Files): boolean {
  try {
    files.open(lock, 'wx', FILE_MODE).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

// Key sets with private keys encrypted by AES-256-GCM, for the database and the copy on a node's disk. States and times stay readable,
// since public answers show them; they are authenticated with the key, so a change to them fails decryption. Format 1, of earlier releases,
// authenticated zone and key tag alone. The control side replaces it when it loads a set.

/** Label under which the key is derived from UQRP_SECRET, and its length. */
export const ENCRYPTION_KEY = { label: 'dnssec-keys', octets: 32 } as const;

/** Keys that were encrypted under another secret, or changed since. */
export class DecryptError extends KeyError {}

type EncryptedKey = Omit<ZoneKeyData, 'privateKey'> & { readonly sealed: string };

const FORMAT = 2;
const EARLIER_FORMAT = 1;
/** `KeySetData.version` of a decrypted set, of either format. */
const SET_VERSION = 1;

/** @param key 32 octets, used for nothing else */
export function encryptKeySet({ zone, keys }: KeySetData, key: Uint8Array): string {
  const encrypted = keys.map(({ privateKey, ...facts }): EncryptedKey => {
    const nonce = realRandom(NONCE_OCTETS);
    const sealed = encryptGcm(
      key,
      nonce,
      associatedData(FORMAT, zone, facts),
      Buffer.from(privateKey, 'utf8'),
    );
    return { ...facts, sealed: Buffer.concat([nonce, sealed]).toString('base64') };
  });
  return JSON.stringify({ version: FORMAT, zone, keys: encrypted });
}

/**
 * Decrypts the key set of a zone.
 * @throws DecryptError when the key does not fit, KeyError when it is no key set of this zone
 */
export function openKeySet(zone: string, document: string, key: Uint8Array): KeySetData {
  const { version, keys } = parse(zone, document);
  if (version !== FORMAT && version !== EARLIER_FORMAT) {
    throw new KeyError(`the keys of ${zone} are of an unknown version`);
  }
  const opened = keys.map(({ sealed, ...facts }) => ({
    ...facts,
    privateKey: open(zone, associatedData(version, zone, facts), sealed, key),
  }));
  return keySetData(readKeySet({ version: SET_VERSION, zone, keys: opened }));
}

/** Whether a document that decrypts has the current format. */
export function isCurrentFormat(zone: string, document: string): boolean {
  return parse(zone, document).version === FORMAT;
}

function open(zone: string, associated: Buffer, sealed: string, key: Uint8Array): string {
  const octets = Buffer.from(sealed, 'base64');
  const text = decryptGcm(key, octets.subarray(0, NONCE_OCTETS), associated, octets.subarray(NONCE_OCTETS));
  if (text === null) {
    throw new DecryptError(`the signing keys of ${zone} do not open with this UQRP_SECRET`);
  }
  return text.toString('utf8');
}

function parse(zone: string, document: string): { version: unknown; keys: readonly EncryptedKey[] } {
  try {
    const data = JSON.parse(document) as { version: unknown; zone: unknown; keys: EncryptedKey[] };
    const isWhole = data.keys.every(({ sealed }) => typeof sealed === 'string');
    if (data.zone === zone && isWhole) return data;
  } catch {
    // The parser's message quotes the text.
  }
  throw new KeyError(`the encrypted signing keys of ${zone} are not readable`);
}

/** The order of the members is part of the format. */
function associatedData(format: number, zone: string, facts: Omit<EncryptedKey, 'sealed'>): Buffer {
  const { role, keyTag, state, createdAt, stateSince, dsSeenAt } = facts;
  const text =
    format === EARLIER_FORMAT
      ? `${zone} ${keyTag}`
      : JSON.stringify([format, zone, role, keyTag, state, createdAt, stateSince, dsSeenAt]);
  return Buffer.from(text, 'utf8');
}
