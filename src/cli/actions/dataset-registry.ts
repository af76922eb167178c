import { existsSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { basename } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { importDataset } from '../../control/datasets/import.ts';
import { readAttestationKeys } from '../../control/datasets/keys.ts';
import {
  type DatasetVersion,
  exportItems,
  findServed,
  listDatasets,
  retireDataset,
} from '../../control/datasets/versions.ts';
import { isSlug } from '../../protocol/datasets/slug.ts';
import { isPublishedVersion } from '../../protocol/datasets/version.ts';
import { isDiskFull } from '../../store/engine/engine-errors.ts';
import { withStore } from '../context.ts';
import { InputError, print, table, UsageError } from '../output.ts';
import { progressOn } from '../progress.ts';
import { parsePublicKey } from './datasets.ts';

export interface ImportOptions {
  readonly items: string;
  readonly key?: string;
}

/** Lower than a server's: the check of a large file uses a core for some seconds. */
const PRIORITY = 5;

/** Imports a signed manifest and its items beside a running server, which serves them once all are stored. */
export async function datasetImport(
  clock: Clock,
  signed: string,
  { items, key }: ImportOptions,
  json: boolean,
): Promise<void> {
  const given = key === undefined ? null : parsePublicKey(key);
  setPriority(PRIORITY);
  const checking = progressOn(process.stderr, `check ${basename(items)}`);
  const storing = progressOn(process.stderr, `store ${basename(items)}`);
  const imported = await withStore(clock, ({ config, deps }) =>
    importDataset(
      deps,
      { manifest: signed, items },
      {
        own: readAttestationKeys(config.dataDir),
        key: given,
        sortFolder: existsSync(config.dataDir) ? config.dataDir : tmpdir(),
        onChecked: checking.show,
        onProgress: storing.show,
      },
    ),
  )
    .catch((error: unknown) => {
      if (!isFull(error)) throw error;
      throw new InputError('The disk is full. Make room and import again: it goes on from here.');
    })
    .finally(() => {
      checking.clear();
      storing.clear();
    });
  const { slug, version } = imported.manifest;
  const isNew = imported.items !== null;
  if (json) print(JSON.stringify({ slug, version, imported: isNew, items: imported.items }));
  else print(`${slug} ${version} ${isNew ? `imported, ${imported.items} items` : 'was already imported'}`);
}

export async function datasetList(clock: Clock, json: boolean): Promise<void> {
  const versions = await withStore(clock, ({ deps }) => listDatasets(deps));
  if (json) {
    print(JSON.stringify(versions.map(factsOf)));
    return;
  }
  const rows = versions.map((dataset) => {
    const { slug, version, state, latest, items, windows, attkid, published_at: at } = factsOf(dataset);
    return [slug, version, latest ? 'latest' : state, `${items}`, `${windows}`, attkid, at ?? '-'];
  });
  print(table([['SLUG', 'VERSION', 'STATE', 'ITEMS', 'WINDOWS', 'KEY', 'PUBLISHED'], ...rows]));
}

/** @param target `SLUG` or `SLUG@VERSION` */
export async function datasetRetire(clock: Clock, target: string, json: boolean): Promise<void> {
  const { slug, version } = parseTarget(target);
  const versions = await withStore(clock, ({ deps }) => retireDataset(deps, slug, version));
  print(json ? JSON.stringify({ slug, retired: versions }) : `${slug} ${versions.join(', ')} retired`);
}

/** Writes the items file as it was imported, or its signed manifest. */
export async function datasetExport(
  clock: Clock,
  target: string,
  { manifest }: { readonly manifest?: boolean },
): Promise<void> {
  const { slug, version } = parseTarget(target);
  await withStore(clock, async ({ deps }) => {
    const dataset = await findServed(deps, slug, version);
    if (manifest) {
      print(JSON.stringify(dataset.manifest, null, 2));
      return;
    }
    for await (const octets of exportItems(deps, dataset)) {
      // A slow reader must hold the export up: otherwise the whole file would wait in memory.
      if (!process.stdout.write(octets))
        await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  });
}

function factsOf({ manifest, state, isLatest, items, windows, octets, publishedAt }: DatasetVersion) {
  return {
    slug: manifest.slug,
    version: manifest.version,
    state,
    latest: isLatest,
    items,
    windows,
    octets,
    sha256: manifest.sha256,
    attkid: manifest.attkid,
    attested_at: new Date(manifest.atts * 1000).toISOString(),
    published_at: publishedAt === null ? null : new Date(publishedAt).toISOString(),
  };
}

function parseTarget(target: string): { slug: string; version: string | null } {
  const [slug = '', version, ...more] = target.split('@');
  if (!isSlug(slug) || more.length > 0 || (version !== undefined && !isPublishedVersion(version))) {
    throw new UsageError('a dataset is named SLUG or SLUG@VERSION, such as gtin-demo@1.2.0');
  }
  return { slug, version: version ?? null };
}

function isFull(error: unknown): boolean {
  return isDiskFull(error) || (error as NodeJS.ErrnoException).code === 'ENOSPC';
}
