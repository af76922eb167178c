import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { timeOrderedUuids } from '../../../src/base/ids.ts';
import { attestFiles } from '../../../src/control/datasets/attest.ts';
import { type Imported, type ImportOptions, importDataset } from '../../../src/control/datasets/import.ts';
import type { AttestationKey } from '../../../src/control/datasets/keys.ts';
import type { HasTransparencyLog } from '../../../src/control/deps.ts';
import { attestationKeyId, rawPublicKey } from '../../../src/protocol/datasets/attestation.ts';
import type { DatasetItem } from '../../../src/protocol/datasets/item.ts';
import type { SignedManifest } from '../../../src/protocol/datasets/manifest.ts';
import type { Store } from '../../../src/store/store.ts';
import { changesAfter } from '../feed/changes-after.ts';

export interface DatasetWorld {
  /** An own key. */
  readonly key: AttestationKey;
  readonly at: (name: string) => string;
  /** Writes and signs the files of a version. */
  sign(version: string, items: string, more?: SignOptions): SignedFiles;
  import(
    store: Store,
    files: SignedFiles,
    options?: Partial<ImportOptions>,
    deps?: HasTransparencyLog,
  ): Promise<Imported>;
}

export interface SignedFiles {
  readonly manifest: string;
  readonly items: string;
  readonly signed: SignedManifest;
}

interface SignOptions {
  readonly key?: AttestationKey;
  readonly slug?: string;
  readonly license?: string;
}

/** Runs a scenario with a folder for files of datasets. */
export async function withDatasets(scenario: (world: DatasetWorld) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-datasets-'));
  const at = (name: string): string => join(folder, name);
  const key = newKey(1_700_000_000_000);
  let files = 0;
  try {
    await scenario({
      key,
      at,
      sign(version, items, { key: signer = key, slug = 'demo', license = 'CC0-1.0' } = {}) {
        const name = `${slug}-${version}-${files++}`;
        const paths = { manifest: at(`${name}.json`), items: at(`${name}.jsonl`) };
        const url = 'https://example.net/items.jsonl';
        writeFileSync(paths.manifest, JSON.stringify({ slug, version, license, provenance: 'test', url }));
        writeFileSync(paths.items, items);
        const signed = attestFiles(paths, signer, 1_800_000_000_000, { sortFolder: folder });
        writeFileSync(paths.manifest, JSON.stringify(signed));
        return { ...paths, signed };
      },
      import: (store, { manifest, items }, options = {}, deps = {}) =>
        importDataset(
          { store, clock: Date.now, newId: timeOrderedUuids(Date.now), ...deps },
          { manifest, items },
          { own: [key], key: null, sortFolder: folder, pauseMs: 0, ...options },
        ),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function newKey(createdAt: number): AttestationKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = rawPublicKey(privateKey);
  return { kid: attestationKeyId(publicKey), publicKey, privateKey, createdAt };
}

/** Lines of items `a0`, `a1` …, with these windows each. */
export function itemLines(count: number, windows = 1, brand = 'B'): string {
  const lines: string[] = [];
  for (let i = 0; i < count; i++) {
    for (let w = 0; w < windows; w++) {
      const line = { k: itemName(i), from: w * 10, to: w * 10 + 10, brand: `${brand}${w}`, cc: 'DE' };
      lines.push(JSON.stringify(line));
    }
  }
  return `${lines.join('\n')}\n`;
}

export function itemName(i: number): string {
  return `a${String(i).padStart(7, '0')}`;
}

/** What a view holds that follows a log or a snapshot: manifests that are served, with their items. */
export interface Replayed {
  readonly versions: ReadonlyMap<string, { manifest: SignedManifest | null; items: DatasetItem[] }>;
  readonly keys: ReadonlyMap<string, { since: number; end: number | null }>;
}

/** Replays dataset changes, as a view does. */
export async function replay(store: Store, from: 'log' | 'snapshot'): Promise<Replayed> {
  const versions = new Map<string, { manifest: SignedManifest | null; items: DatasetItem[] }>();
  const keys = new Map<string, { since: number; end: number | null }>();
  const versionOf = (id: string) => {
    const known = versions.get(id) ?? { manifest: null, items: [] };
    versions.set(id, known);
    return known;
  };
  for await (const change of changesOf(store, from)) {
    if (change.type === 'dataset.items') versionOf(change.versionId).items.push(...change.items);
    if (change.type === 'dataset.published') versionOf(change.versionId).manifest = change.manifest;
    if (change.type === 'dataset.withdrawn') versions.delete(change.versionId);
    if (change.type === 'dataset.key') keys.set(change.kid, { since: change.since, end: change.end });
  }
  return { versions, keys };
}

async function* changesOf(store: Store, from: 'log' | 'snapshot') {
  if (from === 'snapshot') {
    for await (const page of (await store.changes.openSnapshot()).pages) yield* page;
    return;
  }
  for (let seq = 0; ; ) {
    const changes = await changesAfter(store.changes, seq, 1000);
    const last = changes.at(-1);
    if (last === undefined) return;
    yield* changes;
    seq = last.seq;
  }
}

/** Versions that a view serves, with how many items each has. */
export function servedOf({ versions }: Replayed): Record<string, number> {
  const served: Record<string, number> = {};
  for (const { manifest, items } of versions.values()) {
    if (manifest !== null) served[manifest.version] = items.length;
  }
  return served;
}
