import { LIMITS } from '../../base/limits.ts';
import { type Bytes, FIRST, type KeyRange, type Tree } from '../lmdb/tree.ts';
import type { HostedTarget } from '../view.ts';
import {
  digestAtEnd,
  expiredBefore,
  expiredDigest,
  expiredInKey,
  expiredInParts,
  expiredKey,
  maxTtlKey,
  namespaceKey,
  pairKey,
  recordsBeside,
  recordsOf,
  recordTableKey,
  recordVersionKey,
  textParts,
  tokenKey,
  tokenOfKey,
  tokensOf,
} from './record-keys.ts';
import {
  decodeNamespace,
  decodeNumber,
  decodeToken,
  encodeNamespace,
  encodeNumber,
  encodeRecord,
  encodeToken,
  WITHHELD,
} from './record-values.ts';

/** LMDB stores no empty value; the key of an index entry holds everything. */
const PRESENT = Buffer.from([1]);

/** At least as long as any value. */
const ZEROS = Buffer.alloc(4096);

/** Bounds the memory for the deletion of a large namespace. */
const KEYS_AT_ONCE = 1000;

type Emit = (key: Bytes, value: Uint8Array) => void;

/**
 * Emits the entries of an upsert; key and value are valid until the call returns. A name that no query can contain has
 * none: one such change must not block the changes after it.
 */
export function hostedEntriesTo(
  emit: Emit,
): Pick<HostedTarget, 'putRecord' | 'withholdRecord' | 'putNamespace' | 'putToken'> {
  const toRecord = (key: string, value: () => Uint8Array): void => {
    const at = recordTableKey(key);
    if (at === null) return;
    emit(at, value());
    emit(recordVersionKey(key), PRESENT);
  };
  return {
    putRecord: (key, record) => toRecord(key, () => encodeRecord(record)),
    withholdRecord: (key) => toRecord(key, () => WITHHELD),
    putNamespace(name, namespace, maxTtl) {
      const at = namespaceKey(name);
      if (at === null) return;
      emit(at, encodeNamespace(namespace));
      // Also where it is the default: of two upserts in a rebuild the later counts.
      emit(maxTtlKey(name)!, encodeNumber(maxTtl));
    },
    putToken(digest, token) {
      const at = tokenKey(digest);
      if (at === null) return;
      emit(at, encodeToken(token));
      emit(tokenOfKey(token.namespace, digest), PRESENT);
    },
  };
}

/**
 * Changes to the tree, each inside the caller's write transaction. A removed value is overwritten with zeros first,
 * since LMDB keeps its bytes in a page that stays in use. `wipe.ts` overwrites the old copy of the page.
 * @param onErase called when a value was removed or replaced
 */
export function hostedTarget(tree: Tree, onErase: () => void): HostedTarget {
  const blank = (key: Bytes, length: number): void => {
    tree.putSync(key, ZEROS.subarray(0, length));
    onErase();
  };
  const put = (key: Bytes, value: Uint8Array): void => {
    const old = tree.getBinaryFast(key);
    if (old !== undefined) {
      if (old.compare(value, 0, value.length, 0, old.length) === 0) return;
      blank(key, old.length);
    }
    tree.putSync(key, value);
  };
  const remove = (key: Bytes | null): boolean => {
    const old = key === null ? undefined : tree.getBinaryFast(key);
    if (key === null || old === undefined) return false;
    blank(key, old.length);
    tree.removeSync(key);
    return true;
  };
  const idOf = (namespace: string): string | null => {
    const key = namespaceKey(namespace);
    const bytes = key === null ? undefined : tree.getBinaryFast(key);
    return bytes === undefined ? null : decodeNamespace(bytes).id;
  };
  return {
    ...hostedEntriesTo(put),
    ...expiredTarget(tree, idOf),
    deleteRecord(key) {
      if (!remove(recordTableKey(key))) return;
      if (firstOf(tree, recordsBeside(key)) === null) remove(recordVersionKey(key));
    },
    deleteToken(digest) {
      const key = tokenKey(digest);
      const bytes = key === null ? undefined : tree.getBinaryFast(key);
      if (bytes === undefined) return;
      const { namespace } = decodeToken(bytes);
      remove(tokenKey(digest));
      remove(tokenOfKey(namespace, digest));
    },
    dropNamespace(name) {
      const versions = new Set<string>();
      removeAll(tree, recordsOf(name), (key) => {
        versions.add(textParts(key)[1]!);
        remove(key);
      });
      for (const version of versions) remove(pairKey(FIRST.version, version, name));
      removeAll(tree, tokensOf(name), (key) => {
        const digest = digestAtEnd(key);
        const bytes = tree.getBinaryFast(tokenKey(digest)!);
        // The token may belong to another namespace by now, whose index names it.
        if (bytes !== undefined && decodeToken(bytes).namespace === name) remove(tokenKey(digest));
        remove(key);
      });
      remove(maxTtlKey(name));
      remove(namespaceKey(name));
    },
  };
}

function firstOf(tree: Tree, { start, end }: KeyRange): Uint8Array | null {
  for (const key of tree.getKeys({ start, end, limit: 1 })) return key;
  return null;
}

/** @param removeOne must remove the key it is given */
function removeAll(tree: Tree, range: KeyRange, removeOne: (key: Bytes) => void): void {
  const start = range.start.slice();
  const end = range.end.slice();
  for (;;) {
    const keys = [...tree.getKeys({ start, end, limit: KEYS_AT_ONCE })];
    if (keys.length === 0) return;
    for (const key of keys) removeOne(key as Bytes);
  }
}

// Which records expired a short time ago, so that the query log can say why a query found nothing. Of a record nothing is kept but a
// digest, with the period of `LIMITS.expiredMinutes` in which it was deleted: a reader looks into two periods, older ones go.

const PERIOD_MS = LIMITS.expiredMinutes * 60_000;
/** Old ones that one transaction deletes: below a millisecond. */
const FORGOTTEN_AT_ONCE = 200;

/** After this time without another record that expired, none that the view knows is shown any more. */
export const EXPIRED_KEPT_MS = 2 * PERIOD_MS;

/** Number of the period that a time is in. @param at milliseconds since the epoch */
export function periodOf(at: number): number {
  return Math.floor(at / PERIOD_MS);
}

/**
 * @param idOf the namespace's id in the view, or null
 * @param most of one period, so that a flood of them does not fill the disk
 */
export function expiredTarget(
  tree: Tree,
  idOf: (namespace: string) => string | null,
  most: number = LIMITS.expiredKeys,
): Pick<HostedTarget, 'rememberExpired' | 'forgetExpired'> {
  let period = 0;
  let known = 0;
  // The process before may have left some.
  let mayHaveOld = true;
  return {
    rememberExpired(key, namespace, at) {
      const id = idOf(namespace);
      if (id === null) return;
      const now = periodOf(at);
      if (now !== period) {
        known = 0;
        mayHaveOld = true;
      }
      period = now;
      if (mayHaveOld) mayHaveOld = forgetOld(tree, period - 1, FORGOTTEN_AT_ONCE) === FORGOTTEN_AT_ONCE;
      if (known >= most) return;
      known++;
      const digest = expiredDigest(key, id);
      forget(tree, digest);
      tree.putSync(expiredKey(digest), encodeNumber(period));
      tree.putSync(expiredInKey(period, digest), PRESENT);
    },
    forgetExpired(key, namespace) {
      const id = idOf(namespace);
      if (id !== null) forget(tree, expiredDigest(key, id));
    },
  };
}

function forget(tree: Tree, digest: string): void {
  const bytes = tree.getBinaryFast(expiredKey(digest));
  if (bytes === undefined) return;
  const period = decodeNumber(bytes);
  tree.removeSync(expiredKey(digest));
  tree.removeSync(expiredInKey(period, digest));
}

/** Deletes some of the records that expired before a period. @returns how many */
function forgetOld(tree: Tree, before: number, most: number): number {
  const { start, end } = expiredBefore(before);
  const old = [...tree.getKeys({ start: start.slice(), end: end.slice(), limit: most })];
  for (const key of old) forget(tree, expiredInParts(key).digest);
  return old.length;
}

/** Deletes some of all. @returns false: there was none */
export function forgetAllExpired(tree: Tree, most: number): boolean {
  return forgetOld(tree, 0xffff_ffff, most) > 0;
}
