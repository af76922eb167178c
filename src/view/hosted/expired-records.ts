/**
 * Which records expired a short time ago, so that the query log can say why a query found nothing. Of a record nothing is kept but a
 * digest, with the period of `LIMITS.expiredMinutes` in which it was deleted: a reader looks into two periods, older ones go.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Tree } from '../lmdb/tree.ts';
import { expiredBefore, expiredDigest, expiredInKey, expiredInParts, expiredKey } from './record-keys.ts';
import { decodeNumber, encodeNumber } from './record-values.ts';
import type { HostedTarget } from './view.ts';

const PERIOD_MS = LIMITS.expiredMinutes * 60_000;
/** LMDB stores no empty value; the key holds everything. */
const PRESENT = Buffer.from([1]);
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
      if (mayHaveOld) mayHaveOld = forgetOld(tree, period - 1, FORGOTTEN_AT_ONCE);
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

/** Deletes some of the records that expired before a period. @returns whether there may be more */
function forgetOld(tree: Tree, before: number, most: number): boolean {
  const { start, end } = expiredBefore(before);
  const old = [...tree.getKeys({ start: start.slice(), end: end.slice(), limit: most })];
  for (const key of old) forget(tree, expiredInParts(key).digest);
  return old.length === most;
}

/** Deletes some of all. @returns whether there may be more */
export function forgetAllExpired(tree: Tree, most: number): boolean {
  return forgetOld(tree, 0xffff_ffff, most);
}
