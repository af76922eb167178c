import { closeSync, openSync, readSync } from 'node:fs';
import { LIMITS } from '../../base/limits.ts';
import { attest, attestationKeyId, isAttestedBy } from '../../protocol/datasets/attestation.ts';
import {
  readManifest,
  readSignedManifest,
  type SignedManifest,
  type SignedRead,
} from '../../protocol/datasets/manifest.ts';
import { isAskable } from '../../protocol/datasets/query.ts';
import { type CheckedItems, type CheckOptions, checkItems, DatasetFault, sha256Of } from './items.ts';
import type { AttestationKey } from './keys.ts';

/** @param read for a file before, or after the attestation. @throws DatasetFault with every fault */
export function readManifestFile<T>(path: string, read: (value: unknown) => SignedRead<T>): T {
  const result = read(parse(path, readBounded(path)));
  if (result.ok) return result.value;
  throw new DatasetFault(result.faults.map((fault) => `${path}: ${fault}`));
}

/** @throws DatasetFault for a dataset that would be published, and that no DNS query could name */
export function requireAskable(path: string, slug: string): void {
  if (!isAskable(slug))
    throw new DatasetFault([`${path}: slug must not begin with auth-, as tokens in DNS names do`]);
}

function parse(path: string, octets: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(octets));
  } catch {
    throw new DatasetFault([`${path}: the manifest is not JSON in UTF-8`]);
  }
}

function readBounded(path: string): Buffer {
  const handle = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(LIMITS.datasetManifestFile + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length < buffer.length) return buffer.subarray(0, length);
    throw new DatasetFault([`${path} is longer than ${LIMITS.datasetManifestFile} octets`]);
  } finally {
    closeSync(handle);
  }
}

export interface DatasetFiles {
  readonly manifest: string;
  readonly items: string;
}

export type ItemsOptions = Omit<CheckOptions, 'slug'>;

/** Checks both files and signs the manifest. @param now milliseconds since the epoch. @throws DatasetFault */
export function attestFiles(
  files: DatasetFiles,
  key: AttestationKey,
  now: number,
  options: ItemsOptions,
): SignedManifest {
  const manifest = readManifestFile(files.manifest, readManifest);
  requireAskable(files.manifest, manifest.slug);
  const { sha256 } = checkItems(files.items, { ...options, slug: manifest.slug });
  return attest(manifest, sha256, key.privateKey, Math.floor(now / 1000));
}

type Verification =
  | { readonly valid: true; readonly manifest: SignedManifest; readonly items: CheckedItems }
  | { readonly valid: false; readonly reason: string };

/** Checks signature, hash and items. @throws DatasetFault when the manifest is not readable as one */
export function verifyFiles(files: DatasetFiles, publicKey: Uint8Array, options: ItemsOptions): Verification {
  const manifest = readManifestFile(files.manifest, readSignedManifest);
  const kid = attestationKeyId(publicKey);
  if (manifest.attkid !== kid) {
    return {
      valid: false,
      reason: `the manifest is attested by key ${manifest.attkid}, and this key is ${kid}`,
    };
  }
  if (!isAttestedBy(manifest, publicKey)) {
    return { valid: false, reason: 'the signature is not that of this key over this manifest' };
  }
  try {
    return { valid: true, manifest, items: checkAttestedItems(manifest, files.items, options) };
  } catch (error) {
    if (!(error instanceof DatasetFault)) throw error;
    return { valid: false, reason: error.message };
  }
}

/** @throws DatasetFault when it is another file than the manifest names, or has a fault */
export function checkAttestedItems(
  manifest: SignedManifest,
  path: string,
  options: ItemsOptions,
): CheckedItems {
  const fault = new DatasetFault([`${path} is not the items file of the manifest: its SHA-256 is another`]);
  try {
    const items = checkItems(path, { ...options, slug: manifest.slug });
    if (items.sha256 === manifest.sha256) return items;
  } catch (error) {
    if (!(error instanceof DatasetFault)) throw error;
    // Of a changed file the reader must hear that first: its faults are not the publisher's.
    throw sha256Of(path) === manifest.sha256 ? error : fault;
  }
  throw fault;
}
