import { firstKeySearch } from '../lmdb/first-key.ts';
import type { Bytes } from '../lmdb/key-space.ts';
import type { Tree } from '../lmdb/tree.ts';
import { isBelow, namespaceKey, recordKey, seekBelow, tokenKey } from './record-keys.ts';
import { decodeNamespace, decodeRecord, decodeToken, encodeNamespace } from './record-values.ts';
import type { HostedView } from './view.ts';

/** The value of no namespace: as long as that of any. */
const NO_NAMESPACE = Buffer.from(
  encodeNamespace({ id: '00000000-0000-0000-0000-000000000000', publicRead: false, suspended: false }),
);

/** Reads records, namespaces and tokens. @param current the tree that serves; another one after a rebuild */
export function hostedReader(current: { readonly tree: Tree }): Omit<HostedView, 'refresh'> {
  const get = <T>(key: Bytes | null, decode: (bytes: Buffer) => T): T | null => {
    const bytes = key === null ? undefined : current.tree.getBinaryFast(key);
    return bytes === undefined ? null : decode(bytes);
  };
  const firstKey = firstKeySearch();
  return {
    namespace(name) {
      const key = namespaceKey(name);
      const bytes = key === null ? undefined : current.tree.getBinaryFast(key);
      // A missing namespace is decoded too: the time of a refusal must not tell which namespaces exist.
      const found = decodeNamespace(bytes ?? NO_NAMESPACE);
      return bytes === undefined ? null : found;
    },
    token: (digest) => get(tokenKey(digest), decodeToken),
    record: (key) => get(recordKey(key), decodeRecord),
    anyBelow(suffix) {
      const found = firstKey(current.tree, seekBelow(suffix));
      return found !== null && isBelow(found, suffix);
    },
  };
}
