import { LIMITS } from '../../base/limits.ts';
import { type Bytes, firstKeySearch, type Tree } from '../lmdb/tree.ts';
import type { HostedView } from '../view.ts';
import {
  expiredDigest,
  expiredKey,
  isBelow,
  isExpiredKey,
  maxTtlKey,
  namespaceKey,
  recordTableKey,
  seekBelow,
  tokenKey,
} from './record-keys.ts';
import { periodOf } from './record-table.ts';
import {
  decodeNamespace,
  decodeNumber,
  decodeRecord,
  decodeToken,
  encodeNamespace,
} from './record-values.ts';

/** The value of no namespace: as long as that of any. */
const NO_NAMESPACE = Buffer.from(
  encodeNamespace({ id: '00000000-0000-0000-0000-000000000000', publicRead: false, suspended: false }),
);

export interface ReadTree {
  /** The tree that serves; another one after a rebuild. */
  readonly tree: Tree;
  /** Whether its snapshot knows any record that expired; null: not looked up yet. A digest and its search cost 2 us of each miss. */
  anyExpired: boolean | null;
}

/** Reads records, namespaces and tokens. */
export function hostedReader(current: ReadTree): Omit<HostedView, 'refresh'> {
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
    record: (key) => get(recordTableKey(key), decodeRecord),
    hasExpired(key, namespaceId, now) {
      current.anyExpired ??= isExpiredKey(firstKey(current.tree, expiredKey('')));
      if (!current.anyExpired) return false;
      const bytes = current.tree.getBinaryFast(expiredKey(expiredDigest(key, namespaceId)));
      if (bytes === undefined) return false;
      const age = periodOf(now) - decodeNumber(bytes);
      return age === 0 || age === 1;
    },
    maxTtl: (name) => get(maxTtlKey(name), decodeNumber) ?? LIMITS.openTtlDefault,
    anyBelow(suffix) {
      const found = firstKey(current.tree, seekBelow(suffix));
      return found !== null && isBelow(found, suffix);
    },
  };
}
