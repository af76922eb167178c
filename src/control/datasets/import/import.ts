import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAttestedBy } from '../../../protocol/datasets/attestation.ts';
import { readSignedManifest, type SignedManifest } from '../../../protocol/datasets/manifest.ts';
import { appendItemChanges } from '../../../store/datasets/item-changes.ts';
import type { KeyRow } from '../../../store/datasets/keys.ts';
import { insertParts, type Part } from '../../../store/datasets/parts.ts';
import { publishedChange } from '../../../store/datasets/snapshot.ts';
import { addParts, endLease, type Lease, markServed } from '../../../store/datasets/versions.ts';
import { appendChanges } from '../../../store/log/change-log.ts';
import type { HasClock, HasStore } from '../../accounts/deps.ts';
import { checkAttestedItems, type DatasetFiles, type ItemsOptions } from '../attest.ts';
import { DatasetFault } from '../fault.ts';
import type { AttestationKey } from '../keys/key-files.ts';
import { keyOfManifest, ownKeyRows, storeKeys } from '../keys/known-keys.ts';
import { readManifestFile } from '../manifest-file.ts';
import { type ClaimDeps, type Claimed, claimVersion, isServed, LEASE_MS } from './claim.ts';
import { PartSpool } from './part-spool.ts';

/** Of one unit of work: others wait while it runs, on SQLite for the writer, on PostgreSQL for the head of the log. */
const UNIT_PARTS = 48;
const UNIT_OCTETS = 262_144;
/**
 * After each unit the writer is free for half of the time that the unit took, and at least for this time: on SQLite another
 * process tries every 5 ms.
 */
const PAUSE_MS = 12;

interface StoreOptions {
  readonly leaseMs?: number;
  /** Called after each unit. */
  readonly onProgress?: (parts: number, total: number) => void;
  readonly pauseMs?: number;
  readonly unitParts?: number;
}

/** Stores the parts that are not stored yet, in small units. @throws DatasetFault when the version is ours no more */
async function storeParts(
  deps: HasStore & HasClock,
  { lease, parts: stored }: Claimed,
  spool: PartSpool,
  { leaseMs = LEASE_MS, pauseMs = PAUSE_MS, unitParts = UNIT_PARTS, onProgress }: StoreOptions,
): Promise<void> {
  let done = stored;
  for (const unit of units(spool.read(stored), unitParts)) {
    const began = performance.now();
    await deps.store.write(async (tx) => {
      const now = deps.clock();
      if (!(await addParts(tx, lease, unit.length, now + leaseMs))) throw lost();
      await insertParts(tx, lease.versionId, unit);
      const items = unit.filter(({ kind }) => kind === 'items').map(({ part }) => part);
      if (items.length > 0) await appendItemChanges(tx, lease.versionId, items, now);
    });
    done += unit.length;
    onProgress?.(done, spool.parts);
    await sleep(Math.max(pauseMs, (performance.now() - began) / 2));
  }
}

/** The version was retired, or another import took it over. */
function lost(): DatasetFault {
  return new DatasetFault(['the version was retired, or another import went on with it']);
}

function* units(parts: Iterable<Part>, max: number): Generator<Part[]> {
  let unit: Part[] = [];
  let octets = 0;
  for (const part of parts) {
    unit.push(part);
    octets += part.data.length;
    if (unit.length < max && octets < UNIT_OCTETS) continue;
    yield unit;
    unit = [];
    octets = 0;
  }
  if (unit.length > 0) yield unit;
}

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
