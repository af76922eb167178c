import { attestationKeyId } from '../../../../src/protocol/datasets/attestation.ts';
import type { ItemFacts } from '../../../../src/protocol/datasets/item.ts';
import type { SignedManifest } from '../../../../src/protocol/datasets/manifest.ts';
import { compareVersions } from '../../../../src/protocol/datasets/query.ts';
import type { PublishedKey } from '../../../../src/protocol/datasets/signed-text.ts';
import type { DatasetTarget, DatasetView } from '../../../../src/view/view.ts';

export interface DatasetState {
  readonly keys: Map<string, PublishedKey>;
  readonly manifests: Map<string, SignedManifest>;
  /** By version id, then by item. */
  readonly items: Map<string, Map<string, readonly ItemFacts[]>>;
  /** By version id. */
  readonly proofs: Map<string, string>;
  /** Ids of versions that were withdrawn. */
  readonly retired: Map<string, true>;
  /** None, or one under an empty name. */
  readonly checkpoint: Map<string, string>;
}

export function emptyDatasets(): DatasetState {
  return {
    keys: new Map(),
    manifests: new Map(),
    items: new Map(),
    proofs: new Map(),
    retired: new Map(),
    checkpoint: new Map(),
  };
}

export function memoryDatasets(state: DatasetState): DatasetView {
  const served = (slug: string): readonly (readonly [string, SignedManifest])[] =>
    [...state.manifests]
      .filter(([, manifest]) => manifest.slug === slug)
      .sort(([, a], [, b]) => compareVersions(b.version, a.version));
  const find = (slug: string, version: string | null) =>
    served(slug).find(([, manifest]) => version === null || manifest.version === version);
  return {
    manifest: (slug, version) => find(slug, version)?.[1] ?? null,
    proof(slug, version) {
      const [id, manifest] = find(slug, version) ?? [];
      const proof = state.proofs.get(id ?? '');
      return manifest === undefined || proof === undefined
        ? null
        : { version: manifest.version, base64: base64Of(proof) };
    },
    checkpoint() {
      const checkpoint = state.checkpoint.get('');
      return checkpoint === undefined ? null : base64Of(checkpoint);
    },
    identity: (slug, item) => state.items.get(served(slug)[0]?.[0] ?? '')?.get(item) ?? [],
    keys() {
      const newest = Math.max(...[...state.keys.values()].map(({ since }) => since));
      const used = new Set([...state.manifests.values()].map(({ attkid }) => attkid));
      return [...state.keys]
        .filter(([kid, { since }]) => since === newest || used.has(kid))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, key]) => key);
    },
  };
}

export function datasetMaps(state: DatasetState): DatasetTarget {
  const withdraw = (versionId: string): void => {
    state.retired.set(versionId, true);
    state.manifests.delete(versionId);
    state.proofs.delete(versionId);
    state.items.delete(versionId);
  };
  return {
    putItems(versionId, items) {
      if (state.retired.has(versionId)) return;
      const of = state.items.get(versionId) ?? new Map<string, readonly ItemFacts[]>();
      state.items.set(versionId, of);
      for (const { item, windows } of items) of.set(item, windows);
    },
    publish(versionId, manifest) {
      if (state.retired.has(versionId)) return;
      for (const [id, { slug, version }] of state.manifests) {
        if (slug === manifest.slug && version === manifest.version && id !== versionId) withdraw(id);
      }
      state.manifests.set(versionId, manifest);
    },
    withdraw,
    putKey(kid, key) {
      if (attestationKeyId(key.publicKey) !== kid) throw new Error('the id of another key');
      state.keys.set(kid, key);
    },
    putProof(versionId, proof) {
      if (state.manifests.has(versionId)) state.proofs.set(versionId, proof);
    },
    putCheckpoint: (checkpoint) => void state.checkpoint.set('', checkpoint),
  };
}

export function replaceDatasets(state: DatasetState, by: DatasetState): void {
  for (const name of ['keys', 'manifests', 'items', 'proofs', 'retired', 'checkpoint'] as const) {
    const map = state[name] as Map<string, unknown>;
    map.clear();
    for (const [key, value] of by[name]) map.set(key, value);
  }
}

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64');
}
