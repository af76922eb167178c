import { compareVersions } from '../../protocol/datasets/query.ts';
import type { PublishedKey } from '../../protocol/datasets/signed-text.ts';
import { type Bytes, FIRST, type KeyRange, type Tree } from '../lmdb/tree.ts';
import type { DatasetTarget, DatasetView } from '../view.ts';
import {
  allOf,
  CHECKPOINT_KEY,
  idAfterFirst,
  idOctets,
  itemKey,
  itemsOf,
  latestKey,
  manifestKey,
  manifestParts,
  manifestsOf,
  proofKey,
  publicKeyKey,
  retiredKey,
  textAfterFirst,
  useKey,
  usesOf,
  versionKey,
  withdrawnKey,
} from './dataset-keys.ts';
import {
  decodeManifest,
  decodePublicKey,
  decodeVersion,
  decodeWindows,
  encodeManifest,
  encodePublicKey,
  encodeVersion,
  encodeWindows,
  ID_OCTETS,
  idOf,
} from './dataset-values.ts';

/** LMDB stores no empty value. */
const PRESENT = Buffer.from([1]);

type Emit = (key: Bytes, value: Uint8Array) => void;

/** Emits the entries of an upsert, without the entry of the latest version: `indexLatest` makes those. */
export function datasetEntriesTo(emit: Emit): DatasetTarget {
  return {
    withdraw: (versionId) => markWithdrawn(emit, idOctets(versionId)),
    putItems(versionId, items) {
      const id = idOctets(versionId);
      for (const { item, windows } of items) emit(itemKey(id, item), encodeWindows(windows));
    },
    publish(versionId, manifest) {
      const id = idOctets(versionId);
      const { slug, version, attkid } = manifest;
      emit(manifestKey(slug, version), encodeManifest(id, manifest));
      emit(versionKey(id), encodeVersion(slug, version));
      emit(useKey(attkid, id), PRESENT);
    },
    putKey: (kid, key) => emit(publicKeyKey(kid), encodePublicKey(key)),
    putProof: (versionId, proof) => emit(proofKey(idOctets(versionId)), Buffer.from(proof)),
    putCheckpoint: (checkpoint) => emit(CHECKPOINT_KEY, Buffer.from(checkpoint)),
  };
}

function markWithdrawn(emit: Emit, id: Uint8Array): void {
  emit(withdrawnKey(id), PRESENT);
  emit(retiredKey(id), PRESENT);
}

/**
 * Changes to the tree, each inside the caller's write transaction. A withdrawn version is out of reach at once; its
 * items stay until `deleteWithdrawn` has removed them.
 */
export function datasetTarget(tree: Tree): DatasetTarget {
  const put: Emit = (key, value) => void tree.putSync(key, value);
  const entries = datasetEntriesTo(put);
  const isRetired = (versionId: string): boolean =>
    tree.getBinaryFast(retiredKey(idOctets(versionId))) !== undefined;
  const withdraw = (id: Uint8Array): void => {
    markWithdrawn(put, id);
    tree.removeSync(proofKey(id));
    const named = tree.getBinaryFast(versionKey(id));
    if (named === undefined) return;
    const [slug, version] = decodeVersion(named);
    const manifest = tree.getBinaryFast(manifestKey(slug, version));
    if (manifest !== undefined) {
      tree.removeSync(useKey(decodeManifest(manifest).attkid, id));
      tree.removeSync(manifestKey(slug, version));
    }
    tree.removeSync(versionKey(id));
    putLatest(tree, slug, latestOf(tree, slug));
  };
  return {
    ...entries,
    putItems(versionId, items) {
      if (!isRetired(versionId)) entries.putItems(versionId, items);
    },
    publish(versionId, manifest) {
      if (isRetired(versionId)) return;
      const { slug, version } = manifest;
      const former = tree.getBinaryFast(manifestKey(slug, version));
      const formerId = former === undefined ? null : idOf(former);
      // The log withdraws a version before it is published under another id. A view must not depend on it.
      if (formerId !== null && !idOctets(versionId).equals(formerId)) withdraw(formerId);
      entries.publish(versionId, manifest);
      putLatest(tree, slug, latestOf(tree, slug));
    },
    withdraw: (versionId) => withdraw(idOctets(versionId)),
    putProof(versionId, proof) {
      if (tree.getBinaryFast(versionKey(idOctets(versionId))) !== undefined)
        entries.putProof(versionId, proof);
    },
  };
}

/** Writes which version of each dataset is the latest, once its manifests are in the tree. Inside a transaction. */
export function indexLatest(tree: Tree): void {
  const latest = new Map<string, string>();
  for (const key of keysIn(tree, allOf(FIRST.datasetManifest))) {
    const [slug, version] = manifestParts(key);
    const best = latest.get(slug);
    if (best === undefined || compareVersions(version, best) > 0) latest.set(slug, version);
  }
  for (const [slug, version] of latest) putLatest(tree, slug, version);
}

/**
 * Deletes items of one withdrawn version, inside the caller's write transaction.
 * @param limit items at most; it bounds how long another change waits
 * @returns whether items may be left
 */
export function deleteWithdrawn(tree: Tree, limit: number): boolean {
  for (const mark of tree.getKeys({ ...allOf(FIRST.datasetWithdrawn), limit: 1 })) {
    const id = idAfterFirst(mark);
    const items = [...tree.getKeys({ ...itemsOf(id), limit })];
    for (const key of items) tree.removeSync(key as Bytes);
    if (items.length < limit) tree.removeSync(withdrawnKey(id));
    return true;
  }
  return false;
}

function latestOf(tree: Tree, slug: string): string | null {
  let best: string | null = null;
  for (const key of keysIn(tree, manifestsOf(slug))) {
    const [, version] = manifestParts(key);
    if (best === null || compareVersions(version, best) > 0) best = version;
  }
  return best;
}

function putLatest(tree: Tree, slug: string, version: string | null): void {
  const manifest = version === null ? undefined : tree.getBinaryFast(manifestKey(slug, version));
  if (manifest === undefined) tree.removeSync(latestKey(slug));
  else {
    const id = idOf(manifest);
    tree.putSync(latestKey(slug), Buffer.concat([id, Buffer.from(version ?? '', 'latin1')]));
  }
}

/** Copies: a write may move the keys of a range that is being read. */
function keysIn(tree: Tree, range: KeyRange): Uint8Array[] {
  return [...tree.getKeys({ ...range, limit: Number.MAX_SAFE_INTEGER })];
}

const EVERY_KEY = 1000;

/** Reads the dataset tables. @param current the tree that serves; another one after a rebuild */
export function datasetReader(current: { readonly tree: Tree }): DatasetView {
  return {
    manifest(slug, version) {
      const { tree } = current;
      const asked = version ?? latestVersion(tree, slug);
      const bytes = asked === null ? undefined : tree.getBinaryFast(manifestKey(slug, asked));
      return bytes === undefined ? null : decodeManifest(bytes);
    },
    identity(slug, item) {
      const { tree } = current;
      const latest = tree.getBinaryFast(latestKey(slug));
      // The key has a copy of the id, made before the next read overwrites the buffer.
      const bytes =
        latest === undefined ? undefined : tree.getBinaryFast(itemKey(latest.subarray(0, ID_OCTETS), item));
      return bytes === undefined ? [] : decodeWindows(bytes);
    },
    keys() {
      const { tree } = current;
      const found: { readonly isUsed: boolean; readonly key: PublishedKey }[] = [];
      for (const at of [...tree.getKeys({ ...allOf(FIRST.datasetKey), limit: EVERY_KEY })]) {
        const kid = textAfterFirst(at);
        const bytes = tree.getBinaryFast(publicKeyKey(kid));
        if (bytes !== undefined) found.push({ isUsed: isUsed(tree, kid), key: decodePublicKey(bytes) });
      }
      const newest = Math.max(...found.map(({ key }) => key.since));
      return found.filter(({ isUsed, key }) => isUsed || key.since === newest).map(({ key }) => key);
    },
    proof(slug, version) {
      const { tree } = current;
      const asked = version ?? latestVersion(tree, slug);
      const manifest = asked === null ? undefined : tree.getBinaryFast(manifestKey(slug, asked));
      // The key has a copy of the id, made before the next read overwrites the buffer.
      const bytes =
        manifest === undefined ? undefined : tree.getBinaryFast(proofKey(manifest.subarray(0, ID_OCTETS)));
      return bytes === undefined ? null : { version: asked!, base64: base64Of(bytes) };
    },
    checkpoint() {
      const bytes = current.tree.getBinaryFast(CHECKPOINT_KEY);
      return bytes === undefined ? null : base64Of(bytes);
    },
  };
}

/** The buffer is longer than its value. */
function base64Of(bytes: Buffer): string {
  return bytes.toString('base64', 0, bytes.length);
}

function latestVersion(tree: Tree, slug: string): string | null {
  const bytes = tree.getBinaryFast(latestKey(slug));
  return bytes === undefined ? null : bytes.toString('latin1', ID_OCTETS, bytes.length);
}

function isUsed(tree: Tree, kid: string): boolean {
  for (const _ of tree.getKeys({ ...usesOf(kid), limit: 1 })) return true;
  return false;
}
