/**
 * Key sets with encrypted private keys, for the database and for the copy on a node's disk. States and times are in the clear:
 * they are in public answers anyway. Each private key is encrypted by itself with AES-256-GCM; zone and key tag are authenticated
 * with it, so that a key moved to another row or another place does not open.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { KeyError, type KeySetData, keySetData, readKeySet, type ZoneKeyData } from './key-set.ts';

/** Label under which the sealing key is derived from UQRP_SECRET, and its length in octets. */
export const SEALING_KEY = { label: 'dnssec-keys', octets: 32 } as const;

/** Keys that were sealed under another secret, or changed since. */
export class SealError extends KeyError {}

type SealedKey = Omit<ZoneKeyData, 'privateKey'> & { readonly sealed: string };

const CIPHER = 'aes-256-gcm';
/** The one length that GCM takes as it is (NIST SP 800-38D §8.2). */
const NONCE = 12;
const TAG = 16;

/** @param key 32 octets, used for nothing else */
export function sealKeySet({ version, zone, keys }: KeySetData, key: Uint8Array): string {
  const sealed = keys.map(({ privateKey, ...facts }): SealedKey => {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG });
    cipher.setAAD(associatedData(zone, facts.keyTag));
    const text = Buffer.concat([cipher.update(privateKey, 'utf8'), cipher.final()]);
    return { ...facts, sealed: Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64') };
  });
  return JSON.stringify({ version, zone, keys: sealed });
}

/**
 * The key set of a zone in the clear.
 *
 * @throws SealError when it does not open with this key, KeyError when it is no key set of this zone
 */
export function openKeySet(zone: string, document: string, key: Uint8Array): KeySetData {
  const { version, keys } = parse(zone, document);
  const opened = keys.map(({ sealed, ...facts }) => ({
    ...facts,
    privateKey: open(zone, facts.keyTag, sealed, key),
  }));
  const set = readKeySet({ version, zone, keys: opened });
  return keySetData(set);
}

function open(zone: string, keyTag: number, sealed: string, key: Uint8Array): string {
  const octets = Buffer.from(sealed, 'base64');
  try {
    const cipher = createDecipheriv(CIPHER, key, octets.subarray(0, NONCE), { authTagLength: TAG });
    cipher.setAAD(associatedData(zone, keyTag));
    cipher.setAuthTag(octets.subarray(octets.length - TAG));
    const text = cipher.update(octets.subarray(NONCE, octets.length - TAG));
    return Buffer.concat([text, cipher.final()]).toString('utf8');
  } catch {
    throw new SealError(`the signing keys of ${zone} do not open with this UQRP_SECRET`);
  }
}

function parse(zone: string, document: string): { version: unknown; keys: readonly SealedKey[] } {
  try {
    const data = JSON.parse(document) as { version: unknown; zone: unknown; keys: SealedKey[] };
    const isWhole = data.keys.every(({ sealed }) => typeof sealed === 'string');
    if (data.zone === zone && isWhole) return data;
  } catch {
    // The parser's message quotes the text.
  }
  throw new KeyError(`the sealed signing keys of ${zone} are not readable`);
}

function associatedData(zone: string, keyTag: number): Buffer {
  return Buffer.from(`${zone} ${keyTag}`, 'utf8');
}
