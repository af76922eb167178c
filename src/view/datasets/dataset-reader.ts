import type { PublishedKey } from '../../protocol/datasets/signed-text.ts';
import { FIRST } from '../lmdb/key-space.ts';
import type { Tree } from '../lmdb/tree.ts';
import {
  allOf,
  itemKey,
  latestKey,
  manifestKey,
  publicKeyKey,
  textAfterFirst,
  usesOf,
} from './dataset-keys.ts';
import { decodeManifest, decodePublicKey, decodeWindows, ID_OCTETS } from './dataset-values.ts';
import type { DatasetView } from './view.ts';

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
  };
}

function latestVersion(tree: Tree, slug: string): string | null {
  const bytes = tree.getBinaryFast(latestKey(slug));
  return bytes === undefined ? null : bytes.toString('latin1', ID_OCTETS, bytes.length);
}

function isUsed(tree: Tree, kid: string): boolean {
  for (const _ of tree.getKeys({ ...usesOf(kid), limit: 1 })) return true;
  return false;
}
