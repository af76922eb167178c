import { attest, attestationKeyId, isAttestedBy } from '../../protocol/datasets/attestation.ts';
import { readManifest, readSignedManifest, type SignedManifest } from '../../protocol/datasets/manifest.ts';
import { DatasetFault } from './fault.ts';
import { type CheckedItems, type CheckOptions, checkItems, sha256Of } from './items/check-items.ts';
import type { AttestationKey } from './keys/key-files.ts';
import { readManifestFile } from './manifest-file.ts';

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
  const { sha256 } = checkItems(files.items, { ...options, slug: manifest.slug });
  return attest(manifest, sha256, key.privateKey, Math.floor(now / 1000));
}

export type Verification =
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
