/**
 * Key sets with private keys encrypted by AES-256-GCM, for the database and the copy on a node's disk. States and times stay readable,
 * since public answers show them; they are authenticated with the key, so a change to them fails decryption. Format 1, of earlier releases,
 * authenticated zone and key tag alone. The control side replaces it when it loads a set.
 */

import { randomBytes } from 'node:crypto';
import { decryptGcm, encryptGcm, NONCE_OCTETS } from '../../../base/aes-gcm.ts';
import { KeyError, type KeySetData, keySetData, readKeySet, type ZoneKeyData } from './key-set.ts';

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
    const nonce = randomBytes(NONCE_OCTETS);
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
