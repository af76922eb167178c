import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isAttestedBy } from '../../../core/datasets/attestation.ts';
import { readSignedManifest, type SignedManifest } from '../../../core/datasets/manifest.ts';
import type { KeyRow } from '../../store/datasets/keys.ts';
import { publishedChange } from '../../store/datasets/snapshot.ts';
import { endLease, type Lease, markServed } from '../../store/datasets/versions.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import { checkAttestedItems, type DatasetFiles, type ItemsOptions } from '../attest.ts';
import { DatasetFault } from '../fault.ts';
import type { AttestationKey } from '../keys/key-files.ts';
import { keyOfManifest, ownKeyRows, storeKeys } from '../keys/known-keys.ts';
import { readManifestFile } from '../manifest-file.ts';
import { type ClaimDeps, claimVersion, isServed } from './claim.ts';
import { PartSpool } from './part-spool.ts';
import { lost, type StoreOptions, storeParts } from './store-parts.ts';

export interface ImportOptions extends StoreOptions {
  /** Keys of this data directory, from the oldest to the newest. */
  readonly own: readonly AttestationKey[];
  /** Public key of another publisher, or null. */
  readonly key: Uint8Array | null;
  /** Where temporary files go; they are unlinked once they are open. */
  readonly sortFolder: string;
  readonly onChecked?: ItemsOptions['onProgress'];
}

export interface Imported {
  readonly manifest: SignedManifest;
  /** Null: the version was served before, with the same manifest and items. */
  readonly items: number | null;
}

/**
 * Checks a signed manifest and its items, stores them in small units, and serves the version from one last unit on. An import
 * that was killed is gone on with.
 * @throws DatasetFault when a file has a fault or the version cannot be imported
 */
export async function importDataset(
  deps: ClaimDeps,
  files: DatasetFiles,
  options: ImportOptions,
): Promise<Imported> {
  const manifest = readManifestFile(files.manifest, readSignedManifest);
  const own = ownKeyRows(options.own);
  const key = await keyOfManifest(deps.store.read, manifest, own, options.key);
  if (!isAttestedBy(manifest, Buffer.from(key.public_key, 'base64'))) {
    throw new DatasetFault([
      `${files.manifest}: the signature is not that of key ${key.kid} over this manifest`,
    ]);
  }
  const wasServed = await isServed(deps.store.read, manifest);
  const spool = new PartSpool(join(options.sortFolder, `import-${randomBytes(6).toString('hex')}`));
  try {
    const { sortFolder, onChecked } = options;
    const items = checkAttestedItems(manifest, files.items, {
      sortFolder,
      ...(onChecked && { onProgress: onChecked }),
      ...(!wasServed && { sink: () => spool.restart() }),
    });
    if (wasServed) return { manifest, items: null };
    spool.end();
    const claimed = await claimVersion(deps, manifest, items, options.leaseMs);
    if (claimed === null) return { manifest, items: null };
    try {
      await storeParts(deps, claimed, spool, options);
      await publish(deps, manifest, claimed.lease, [...own, key]);
    } catch (error) {
      await deps.store.write((tx) => endLease(tx, claimed.lease)).catch(() => {});
      throw error;
    }
    return { manifest, items: items.items };
  } finally {
    spool.close();
  }
}

async function publish(
  { store, clock }: ClaimDeps,
  manifest: SignedManifest,
  lease: Lease,
  keys: readonly KeyRow[],
): Promise<void> {
  await store.write(async (tx) => {
    const now = clock();
    if (!(await markServed(tx, lease, now))) throw lost();
    const published = publishedChange({ id: lease.versionId, manifest: JSON.stringify(manifest) });
    await appendChanges(
      tx,
      [...(await storeKeys(tx, keys)), { owner: null, cause: 'direct', ...published }],
      now,
    );
  });
}
