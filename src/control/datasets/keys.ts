/** Attestation keys on disk: one file `<dataDir>/keys/dataset-<kid>.json` for each, mode 0600, never changed. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { makeFolderSync, replaceFileSync, systemFiles } from '../../base/files.ts';
import { attestationKeyId, rawPublicKey } from '../../protocol/datasets/attestation.ts';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { isJsonObject } from '../../protocol/input/fields.ts';
import { keyChange } from '../../store/dataset-changes.ts';
import { findKey, type KeyRow, putKeys } from '../../store/datasets.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import type { Db, Tx } from '../../store/store.ts';
import { holdLogHead } from '../../store/transparency.ts';
import type { HasClock, HasStore, HasTransparencyLog } from '../deps.ts';
import { appendLogEntries, keyEntry } from '../transparency/append.ts';
import { DatasetFault } from './items.ts';

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
  makeFolderSync(folder, 0o700);
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const text = `${JSON.stringify({ version: VERSION, kid, createdAt, privateKey: pem }, null, 2)}\n`;
  // On disk before the key attests.
  replaceFileSync(join(folder, `dataset-${kid}.json`), text, 0o600);
}

function readKey(path: string, kid: string): AttestationKey {
  const unusable = new DatasetFault([`${path} is not an attestation key. Put it back from a backup.`]);
  try {
    const data: unknown = JSON.parse(systemFiles.read(path).toString());
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
    return systemFiles.list(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Stores and publishes the public keys of this data directory: an older one ends when the next one begins. */
export async function publishOwnKeys(
  { store, clock, isLogged }: HasStore & HasClock & HasTransparencyLog,
  own: readonly AttestationKey[],
): Promise<void> {
  await store.write(async (tx) => {
    const rows = isLogged ? await loggedKeys(tx, ownKeyRows(own)) : ownKeyRows(own);
    const changes = await storeKeys(tx, rows);
    if (isLogged) await appendLogEntries(tx, rows.map(keyEntry));
    if (changes.length > 0) await appendChanges(tx, changes, clock());
  });
}

/**
 * With a transparency log, a key keeps its start and the end that it was given: a data directory that was restored may lack the file of the key after
 * it, and the log cannot take an end back.
 */
export async function loggedKeys(tx: Tx, keys: readonly KeyRow[]): Promise<KeyRow[]> {
  // What is read here is what is logged: another unit that ends or begins one of them comes before this one, or after it.
  await holdLogHead(tx);
  const rows: KeyRow[] = [];
  for (const key of keys) {
    const known = await findKey(tx, key.kid);
    rows.push(known === null ? key : { ...key, since: known.since, until: known.until ?? key.until });
  }
  return rows;
}

/** Monitors of the transparency log take such a manifest for one that was signed by a stolen key. */
export function isAfterEnd({ atts }: SignedManifest, key: Pick<KeyRow, 'until'> | null | undefined): boolean {
  const until = key?.until ?? null;
  return until !== null && atts > until;
}

/** @returns changes of those keys that are new or changed, to append to the log */
export async function storeKeys(tx: Tx, keys: readonly KeyRow[]) {
  const changed = await putKeys(tx, keys);
  return changed.map((key) => ({ owner: null, cause: 'direct' as const, ...keyChange(key) }));
}

/** @param own from the oldest to the newest */
export function ownKeyRows(own: readonly AttestationKey[]): KeyRow[] {
  return own.map(({ kid, publicKey, createdAt }, i) => {
    const next = own[i + 1]?.createdAt;
    return {
      kid,
      public_key: publicKey.toString('base64'),
      since: seconds(createdAt),
      until: next === undefined ? null : seconds(next),
      is_own: 1,
    };
  });
}

/**
 * The key that a manifest names: an own one, the one given on the command line, or one that an earlier import stored.
 * @throws DatasetFault when it is none of them
 */
export async function keyOfManifest(
  db: Db,
  manifest: SignedManifest,
  own: readonly KeyRow[],
  given: Uint8Array | null,
): Promise<KeyRow> {
  const kid = manifest.attkid;
  if (given !== null && attestationKeyId(given) !== kid) {
    throw new DatasetFault([
      `the manifest is attested by key ${kid}, and the given key is ${attestationKeyId(given)}`,
    ]);
  }
  const known = own.find((key) => key.kid === kid) ?? (await findKey(db, kid));
  if (known !== null) return known;
  if (given === null) {
    throw new DatasetFault([
      `the manifest is attested by key ${kid}, which is not known here. Give the publisher's public key with --key.`,
    ]);
  }
  const publicKey = Buffer.from(given).toString('base64');
  return { kid, public_key: publicKey, since: manifest.atts, until: null, is_own: 0 };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
