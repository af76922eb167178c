/** Which changes of the feed this page has made itself: they are no news here. */
import type { ChangeResource } from '../../../sdk/src/uqrp-sdk.ts';

/** Milliseconds after the answer to a write in which its change may still come, where nothing but its time tells that it is the own one. */
const LATE_MS = 3000;
/** Milliseconds for which the ETag of a write is kept: after a lost connection its change comes when the feed is open again. */
const KEPT_MS = 600_000;

type OwnKind = 'record.upserted' | 'record.deleted';

interface OwnWrite {
  readonly kind: OwnKind;
  /** By performance.now(). */
  until: number;
  /** Of the record after the write; null: not known. */
  etag: string | null;
}

/** By key. The change of a write may come when the next one is under way: an undo, or a second save. */
const writes = new Map<string, readonly OwnWrite[]>();

/** Runs a write. What it changes is its own until a moment after its end, and however late where the answer had the ETag. */
export async function asOwn<T>(kind: OwnKind, keys: readonly string[], write: () => Promise<T>): Promise<T> {
  const own: OwnWrite = { kind, until: Number.POSITIVE_INFINITY, etag: null };
  for (const key of keys) writes.set(key, [...(writes.get(key) ?? []), own]);
  try {
    const result = await write();
    if (typeof result === 'object' && result !== null && 'etag' in result)
      own.etag = result.etag as string | null;
    return result;
  } finally {
    const now = performance.now();
    own.until = now + LATE_MS;
    for (const [key, all] of writes) {
      const left = all.filter(({ until, etag }) => until + (etag === null ? 0 : KEPT_MS) >= now);
      if (left.length > 0) writes.set(key, left);
      else writes.delete(key);
    }
  }
}

/** `sure`: the change is this page's own. `likely`: it is one of the same kind while this page writes the key. */
export function ownership({ event, key, etag }: ChangeResource): 'sure' | 'likely' | 'none' {
  const own = (key === undefined ? undefined : writes.get(key))?.filter(({ kind }) => kind === event) ?? [];
  if (etag !== undefined && own.some((one) => one.etag === etag)) return 'sure';
  const now = performance.now();
  if (!own.some((one) => one.until >= now && (one.etag === null || etag === undefined))) return 'none';
  return event === 'record.deleted' ? 'sure' : 'likely';
}
