/** Attestation keys on disk: one file `<dataDir>/keys/dataset-<kid>.json` for each, mode 0600, never changed. */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFileSync, syncFolder } from '../../../base/files/replace-file.ts';
import { attestationKeyId, rawPublicKey } from '../../../protocol/datasets/attestation.ts';
import { isJsonObject } from '../../../protocol/input/fields.ts';
import { DatasetFault } from '../fault.ts';

export interface AttestationKey {
  readonly kid: string;
  /** 32 octets. */
  readonly publicKey: Buffer;
  readonly privateKey: KeyObject;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const FOLDER = 'keys';
const NAME = /^dataset-([0-9a-f]{16})\.json$/;
const VERSION = 1;

/** Makes a key. A key has a file of its own, so two processes that do this at once do not meet. */
export function makeAttestationKey(dataDir: string, now: number): AttestationKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = rawPublicKey(privateKey);
  // The newest key attests, also when the clock was set back since the last one was made.
  const last = readAttestationKeys(dataDir).at(-1)?.createdAt ?? -1;
  const createdAt = Math.max(now, last + 1);
  const key = { kid: attestationKeyId(publicKey), publicKey, privateKey, createdAt };
  writeKey(join(dataDir, FOLDER), key);
  return key;
}

/**
 * All keys, the newest last.
 * @throws DatasetFault when a key file is not readable as one
 */
export function readAttestationKeys(dataDir: string): readonly AttestationKey[] {
  const folder = join(dataDir, FOLDER);
  return namesIn(folder)
    .flatMap((name) => {
      const kid = NAME.exec(name)?.[1];
      return kid === undefined ? [] : [readKey(join(folder, name), kid)];
    })
    .sort((a, b) => a.createdAt - b.createdAt || (a.kid < b.kid ? -1 : 1));
}

function writeKey(folder: string, { kid, privateKey, createdAt }: AttestationKey): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const text = `${JSON.stringify({ version: VERSION, kid, createdAt, privateKey: pem }, null, 2)}\n`;
  replaceFileSync(join(folder, `dataset-${kid}.json`), text, 0o600);
  // The name of a key must be on disk before the key attests.
  syncFolder(folder);
}

function readKey(path: string, kid: string): AttestationKey {
  const unusable = new DatasetFault([`${path} is not an attestation key. Put it back from a backup.`]);
  try {
    const data: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isJsonObject(data) || data.version !== VERSION) throw unusable;
    const { createdAt, privateKey: pem } = data;
    if (typeof createdAt !== 'number' || typeof pem !== 'string') throw unusable;
    const privateKey = createPrivateKey(pem);
    const publicKey = rawPublicKey(privateKey);
    if (privateKey.asymmetricKeyType !== 'ed25519' || attestationKeyId(publicKey) !== kid) throw unusable;
    return { kid, publicKey, privateKey, createdAt };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    // Messages of parsers may quote the key.
    throw unusable;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
