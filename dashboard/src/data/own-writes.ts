/** Which changes of the feed this page has made itself: they are no news here. */
import type { ChangeResource } from '../../../sdk/src/uqrp-sdk.ts';

/** Milliseconds after the answer to a write in which its change may still come. */
const LATE_MS = 3000;

type OwnKind = 'record.upserted' | 'record.deleted';

interface OwnWrite {
  readonly kind: OwnKind;
  /** By performance.now(). */
  readonly until: number;
  /** Of the record after the write; null: not known. */
  readonly etag: string | null;
}

const writes = new Map<string, OwnWrite>();

/** Runs a write. What it changes is its own until a moment after its end. */
export async function asOwn<T>(kind: OwnKind, keys: readonly string[], write: () => Promise<T>): Promise<T> {
  const note = (until: number, etag: string | null): void => {
    for (const key of keys) writes.set(key, { kind, until, etag });
  };
  note(Number.POSITIVE_INFINITY, null);
  let etag: string | null = null;
  try {
    const result = await write();
    if (typeof result === 'object' && result !== null && 'etag' in result)
      etag = result.etag as string | null;
    return result;
  } finally {
    note(performance.now() + LATE_MS, etag);
    for (const [key, { until }] of writes) if (until < performance.now()) writes.delete(key);
  }
}

/** `sure`: the change is this page's own. `likely`: it is one of the same kind while this page writes the key. */
export function ownership({ event, key, etag }: ChangeResource): 'sure' | 'likely' | 'none' {
  const own = key === undefined ? undefined : writes.get(key);
  if (own === undefined || own.until < performance.now() || own.kind !== event) return 'none';
  if (own.etag === null || etag === undefined) return own.kind === 'record.deleted' ? 'sure' : 'likely';
  return own.etag === etag ? 'sure' : 'none';
}
