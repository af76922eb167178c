import { join } from 'node:path';
import { realRandom } from '../../base/chance.ts';
import { pause, realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { isAttestedBy } from '../../protocol/datasets/attestation.ts';
import { readSignedManifest, type SignedManifest } from '../../protocol/datasets/manifest.ts';
import { appendItemChanges, publishedChange, retireVersions } from '../../store/dataset-changes.ts';
import type { KeyRow } from '../../store/datasets.ts';
import {
  addParts,
  endImportLease,
  findNumbered,
  findVersion,
  type ImportLease,
  insertParts,
  insertVersion,
  listVersions,
  markServed,
  type Part,
  takeLease,
  type VersionRow,
} from '../../store/datasets.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { HasClock, HasIds, HasStore, HasTransparencyLog } from '../deps.ts';
import { appendLogEntries, keyEntry, manifestEntry } from '../transparency/append.ts';
import { LOG_SLUG } from '../transparency/init.ts';
import {
  checkAttestedItems,
  type DatasetFiles,
  type ItemsOptions,
  readManifestFile,
  requireAskable,
} from './attest.ts';
import { type CheckedItems, DatasetFault } from './items.ts';
import { type AttestationKey, isAfterEnd, keyOfManifest, loggedKeys, ownKeyRows, storeKeys } from './keys.ts';
import { LAYOUT, PartSpool } from './part-spool.ts';

/** An import that stores nothing for this time has ended: another one may go on with its version. Milliseconds. */
const LEASE_MS = 5_000;
const POLL_MS = 200;

interface Claimed {
  readonly lease: ImportLease;
  /** Parts that are stored. */
  readonly parts: number;
}

type WaitDeps = HasStore & HasClock & { readonly timers?: Timers | undefined };
type ClaimDeps = WaitDeps & HasIds & HasTransparencyLog;

/**
 * Whether the version is served with this manifest.
 * @throws DatasetFault when its number was published with another one, or the dataset has too many versions
 */
async function isServed(db: Db, manifest: SignedManifest): Promise<boolean> {
  const rows = await findNumbered(db, manifest.slug, manifest.version);
  // Not those alone that are served: one that was retired may be under way again.
  const isOther = rows.some((row) => row.published_at !== null && !isManifestOf(row, manifest));
  if (isOther) throw otherContent(manifest);
  if (rows.some(({ state }) => state === 'served')) return true;
  const served = await listVersions(db, ['served'], manifest.slug);
  if (served.length < LIMITS.datasetVersions) return false;
  throw new DatasetFault([
    `${manifest.slug} has ${served.length} versions, and ${LIMITS.datasetVersions} can be served: retire one`,
  ]);
}

/**
 * Makes the version of a checked import, or goes on with the one that an ended import left. Waits while another import may be running.
 * @returns null when it is served by now
 * @throws DatasetFault when another process imports it
 */
async function claimVersion(
  deps: ClaimDeps,
  manifest: SignedManifest,
  items: CheckedItems,
  leaseMs = LEASE_MS,
): Promise<Claimed | null> {
  const { timers = realTimers } = deps;
  const name = deps.newId();
  let watched: VersionRow | null = null;
  let since = 0;
  for (;;) {
    const hasEnded = watched !== null && timers.elapsed() - since >= leaseMs;
    const ended = hasEnded ? watched : null;
    const found = await tryClaim({ deps, manifest, items, name, leaseMs, ended });
    if (found === null || 'lease' in found) return found;
    if (watched !== null && !isSameLease(watched, found.holder)) {
      throw new DatasetFault([`${titleOf(manifest)} is being imported by another process`]);
    }
    if (watched === null) since = timers.elapsed();
    watched = found.holder;
    await pause(timers, Math.min(POLL_MS, leaseMs));
  }
}

function titleOf({ slug, version }: Pick<SignedManifest, 'slug' | 'version'>): string {
  return `${slug} ${version}`;
}

interface Claim {
  readonly deps: ClaimDeps;
  readonly manifest: SignedManifest;
  readonly items: CheckedItems;
  readonly name: string;
  readonly leaseMs: number;
  /** A holder that did nothing for the time of a lease, measured here: clocks of two machines may differ. */
  readonly ended: VersionRow | null;
}

type Found = Claimed | { readonly holder: VersionRow } | null;

function tryClaim(options: Claim): Promise<Found> {
  return options.deps.store.write((tx) => claim(tx, options));
}

async function claim(tx: Tx, options: Claim): Promise<Found> {
  const { deps, manifest, name, leaseMs, ended } = options;
  const now = deps.clock();
  if (await isServed(tx, manifest)) return null;
  const row = await findVersion(tx, manifest.slug, manifest.version);
  if (row === null || row.state === 'retired') return begin(tx, options, now);
  const isFree = row.lease_until <= now || (ended !== null && isSameLease(ended, row));
  if (!isFree) return { holder: row };
  const lease = { versionId: row.id, name };
  if (!(await takeLease(tx, lease, now + leaseMs, row))) return { holder: row };
  if (isManifestOf(row, manifest) && row.layout === LAYOUT) return { lease, parts: row.parts };
  await retireVersions(tx, [row], now);
  return begin(tx, options, now);
}

async function begin(tx: Tx, { deps, manifest, items, name, leaseMs }: Claim, now: number): Promise<Found> {
  const row: VersionRow = {
    id: deps.newId(),
    slug: manifest.slug,
    version: manifest.version,
    state: 'importing',
    manifest: JSON.stringify(manifest),
    items: items.items,
    windows: items.windows,
    octets: items.octets,
    layout: LAYOUT,
    parts: 0,
    has_parts: 1,
    lease: name,
    lease_until: now + leaseMs,
    created_at: now,
    published_at: null,
    retired_at: null,
  };
  if (await insertVersion(tx, row)) return { lease: { versionId: row.id, name }, parts: 0 };
  // Another process was first. Its row is there, or its unit is about to end.
  return { holder: (await findVersion(tx, manifest.slug, manifest.version)) ?? row };
}

function isSameLease(a: VersionRow, b: VersionRow): boolean {
  return a.id === b.id && a.lease === b.lease && a.lease_until === b.lease_until;
}

function isManifestOf(row: VersionRow, manifest: SignedManifest): boolean {
  return row.manifest === JSON.stringify(manifest);
}

function otherContent(manifest: SignedManifest): DatasetFault {
  return new DatasetFault([
    `${titleOf(manifest)} was published with another manifest or other items, and a published version never changes. Raise the version.`,
  ]);
}

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
  deps: WaitDeps,
  { lease, parts: stored }: Claimed,
  spool: PartSpool,
  { leaseMs = LEASE_MS, pauseMs = PAUSE_MS, unitParts = UNIT_PARTS, onProgress }: StoreOptions,
): Promise<void> {
  const { timers = realTimers } = deps;
  let done = stored;
  for (const unit of units(spool.read(stored), unitParts)) {
    const began = timers.elapsed();
    await deps.store.write(async (tx) => {
      const now = deps.clock();
      if (!(await addParts(tx, lease, done, unit.length, now + leaseMs))) throw lost();
      await insertParts(tx, lease.versionId, unit);
      const items = unit.filter(({ kind }) => kind === 'items').map(({ part }) => part);
      if (items.length > 0) await appendItemChanges(tx, lease.versionId, items, now);
    });
    done += unit.length;
    onProgress?.(done, spool.parts);
    await pause(timers, Math.max(pauseMs, (timers.elapsed() - began) / 2));
  }
}

/** The version was retired, another import took it over, or a standby that lacks some of its parts took the place of the database. */
function lost(): DatasetFault {
  return new DatasetFault([
    'the version was retired, another import went on with it, or the database lost parts of it in a failover',
  ]);
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
  requireAskable(files.manifest, manifest.slug);
  if (deps.isLogged && manifest.slug === LOG_SLUG)
    throw new DatasetFault([`${files.manifest}: the slug ${LOG_SLUG} is that of the transparency log`]);
  const own = ownKeyRows(options.own);
  const key = await keyOfManifest(deps.store.read, manifest, own, options.key);
  if (!isAttestedBy(manifest, Buffer.from(key.public_key, 'base64'))) {
    throw new DatasetFault([
      `${files.manifest}: the signature is not that of key ${key.kid} over this manifest`,
    ]);
  }
  const wasServed = await isServed(deps.store.read, manifest);
  const spool = new PartSpool(
    join(options.sortFolder, `import-${Buffer.from(realRandom(6)).toString('hex')}`),
  );
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
      await publish(deps, manifest, { lease: claimed.lease, parts: spool.parts }, [...own, key]);
    } catch (error) {
      await deps.store.write((tx) => endImportLease(tx, claimed.lease)).catch(() => {});
      throw error;
    }
    return { manifest, items: items.items };
  } finally {
    spool.close();
  }
}

async function publish(
  { store, clock, isLogged }: ClaimDeps,
  manifest: SignedManifest,
  { lease, parts }: Claimed,
  given: readonly KeyRow[],
): Promise<void> {
  await store.write(async (tx) => {
    const now = clock();
    if (!(await markServed(tx, lease, parts, now))) throw lost();
    const keys = isLogged ? await loggedKeys(tx, given) : given;
    if (isLogged) refuseEnded(manifest, keys);
    const published = publishedChange({ id: lease.versionId, manifest: JSON.stringify(manifest) });
    const stored = await storeKeys(tx, keys);
    // A key is in the log before the manifest that needs it.
    const entries = [...keys.map(keyEntry), manifestEntry(lease.versionId, manifest)];
    const proved = isLogged ? await appendLogEntries(tx, entries) : [];
    await appendChanges(tx, [...stored, { owner: null, cause: 'direct', ...published }, ...proved], now);
  });
}

function refuseEnded(manifest: SignedManifest, keys: readonly KeyRow[]): void {
  const { attkid } = manifest;
  const key = keys.find(({ kid }) => kid === attkid);
  if (!isAfterEnd(manifest, key)) return;
  throw new DatasetFault([
    `the manifest was attested by key ${attkid} after its end, which is in the transparency log. Make a new key with uqrp dataset keygen, and attest again`,
  ]);
}
