import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../../base/limits.ts';
import type { SignedManifest } from '../../../protocol/datasets/manifest.ts';
import { retireVersions } from '../../../store/datasets/retire.ts';
import {
  findVersion,
  insertVersion,
  type Lease,
  listVersions,
  takeLease,
  type VersionRow,
} from '../../../store/datasets/versions.ts';
import type { Db, Tx } from '../../../store/store.ts';
import type { HasClock, HasIds, HasStore } from '../../accounts/deps.ts';
import { DatasetFault } from '../fault.ts';
import type { CheckedItems } from '../items/check-items.ts';
import { LAYOUT } from './part-spool.ts';

/** An import that stores nothing for this time has ended: another one may go on with its version. Milliseconds. */
export const LEASE_MS = 5_000;
const POLL_MS = 200;

export interface Claimed {
  readonly lease: Lease;
  /** Parts that an earlier import stored. */
  readonly parts: number;
}

export type ClaimDeps = HasStore & HasClock & HasIds;

/**
 * Whether the version is served with this manifest.
 * @throws DatasetFault when its number was published with another one, or the dataset has too many versions
 */
export async function isServed(db: Db, manifest: SignedManifest): Promise<boolean> {
  const row = await findVersion(db, manifest.slug, manifest.version);
  if (row !== null && row.state !== 'importing') {
    if (!isManifestOf(row, manifest)) throw otherContent(manifest);
    if (row.state === 'served') return true;
  }
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
export async function claimVersion(
  deps: ClaimDeps,
  manifest: SignedManifest,
  items: CheckedItems,
  leaseMs = LEASE_MS,
): Promise<Claimed | null> {
  const name = deps.newId();
  let watched: VersionRow | null = null;
  let since = 0;
  for (;;) {
    const hasEnded = watched !== null && performance.now() - since >= leaseMs;
    const ended = hasEnded ? watched : null;
    const found = await tryClaim({ deps, manifest, items, name, leaseMs, ended });
    if (found === null || 'lease' in found) return found;
    if (watched !== null && !isSameLease(watched, found.holder)) {
      throw new DatasetFault([`${titleOf(manifest)} is being imported by another process`]);
    }
    if (watched === null) since = performance.now();
    watched = found.holder;
    await sleep(Math.min(POLL_MS, leaseMs));
  }
}

export function titleOf({ slug, version }: Pick<SignedManifest, 'slug' | 'version'>): string {
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
