/** Versions of datasets as the operator and readers of the API see them. */
import { createHash } from 'node:crypto';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { compareVersions } from '../../protocol/datasets/query.ts';
import { retireVersions } from '../../store/dataset-changes.ts';
import type { VersionState } from '../../store/datasets.ts';
import { inflatePart, listVersions, partsAfter, type VersionRow } from '../../store/datasets.ts';
import type { HasClock, HasStore, HasTransparencyLog } from '../deps.ts';
import { logRetirements, retireLogged } from '../transparency/append.ts';
import { DatasetFault } from './items.ts';

/** A version with its manifest. */
export interface DatasetVersion {
  readonly id: string;
  readonly state: VersionState;
  readonly manifest: SignedManifest;
  readonly items: number;
  readonly windows: number;
  readonly octets: number;
  /** Milliseconds since the epoch; null: it was never served. */
  readonly publishedAt: number | null;
  readonly isLatest: boolean;
}

/** Versions that are served or being imported, by slug, the highest version first. */
export async function listDatasets({ store }: HasStore): Promise<DatasetVersion[]> {
  return versionsOf(await listVersions(store.read, ['importing', 'served']));
}

/** The served versions of a slug, the highest first. */
export async function servedVersions({ store }: HasStore, slug: string): Promise<DatasetVersion[]> {
  return versionsOf(await listVersions(store.read, ['served'], slug));
}

/**
 * Retires a version, or all served ones of a slug. The import of a version that is named is given up.
 * @param version null: all
 * @returns their versions
 * @throws DatasetFault when there is none
 */
export async function retireDataset(
  { store, clock, isLogged }: HasStore & HasClock & HasTransparencyLog,
  slug: string,
  version: string | null,
): Promise<string[]> {
  const states: VersionState[] = version === null ? ['served'] : ['importing', 'served'];
  const retired = await store.write(async (tx) => {
    const rows = await listVersions(tx, states, slug);
    const named = rows.filter((row) => version === null || row.version === version);
    const now = clock();
    const logged = isLogged ? (served: readonly VersionRow[]) => logRetirements(tx, served, now) : undefined;
    return (await retireVersions(tx, named, now, logged)).map((row) => row.version);
  });
  // A log that was recovered may say of a version that it is served, which this database does not have.
  const inLog = isLogged ? await store.write((tx) => retireLogged(tx, slug, version, clock())) : [];
  if (retired.length + inLog.length === 0) throw new DatasetFault([`${nameOf(slug, version)} is not served`]);
  return [...retired, ...inLog];
}

/** A served version. @param version null: the latest. @throws DatasetFault when it is not served */
export async function findServed(
  deps: HasStore,
  slug: string,
  version: string | null,
): Promise<DatasetVersion> {
  const found = (await servedVersions(deps, slug)).find(
    ({ manifest }) => version === null || manifest.version === version,
  );
  if (found === undefined) throw new DatasetFault([`${nameOf(slug, version)} is not served`]);
  return found;
}

/** Parts read at once. */
const PAGE = 4;

/** The items file as it was imported. @throws DatasetFault at the end when it was retired meanwhile */
export async function* exportItems(
  { store }: HasStore,
  { id, manifest }: DatasetVersion,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for (let after = -1; ; ) {
    const parts = await partsAfter(store.read, id, 'lines', after, PAGE);
    for (const { part, data } of parts) {
      const octets = inflatePart(data);
      hash.update(octets);
      yield octets;
      after = part;
    }
    if (parts.length < PAGE) break;
  }
  if (hash.digest('hex') === manifest.sha256) return;
  throw new DatasetFault([
    `${nameOf(manifest.slug, manifest.version)} was retired meanwhile: the output is not its items file`,
  ]);
}

function nameOf(slug: string, version: string | null): string {
  return version === null ? slug : `${slug}@${version}`;
}

function versionsOf(rows: readonly VersionRow[]): DatasetVersion[] {
  const versions = rows
    .map((row) => ({ ...row, manifest: JSON.parse(row.manifest) as SignedManifest }))
    .sort((a, b) => compareText(a.slug, b.slug) || compareVersions(b.version, a.version));
  const latest = new Map<string, string>();
  for (const { slug, state, id } of versions) {
    if (state === 'served' && !latest.has(slug)) latest.set(slug, id);
  }
  return versions.map(({ id, slug, state, manifest, items, windows, octets, published_at: publishedAt }) => ({
    id,
    state,
    manifest,
    items,
    windows,
    octets,
    publishedAt,
    isLatest: latest.get(slug) === id,
  }));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
