import type { RecordResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';

/** Records of one export at most. */
export const CHANGED_MAX = 10_000;

/** Milliseconds that an event may have waited before its first attempt: what waited when the failures began was missed too. */
const WAITED_MS = 3_600_000;

/** From when on a webhook may have missed events; null: it misses none, or nobody knows. */
export function missedSince({ health }: WebhookResource): string | null {
  const isOff = health.state === 'disabled';
  const began = isOff || health.state === 'failing' ? (health.failing_since ?? health.disabled_at) : null;
  return began === null ? null : new Date(Date.parse(began) - WAITED_MS).toISOString();
}

export interface Changed {
  readonly records: readonly RecordResource[];
  /** Whether there are more than `CHANGED_MAX`. */
  readonly isCut: boolean;
}

/**
 * The records that a webhook may have missed, the last change first.
 * @param newestFirst all records in the order of their last change
 * @param namespaces of the webhook; empty: all
 */
export async function changedSince(
  newestFirst: AsyncIterable<RecordResource>,
  since: string,
  namespaces: readonly string[],
): Promise<Changed> {
  const records: RecordResource[] = [];
  for await (const record of newestFirst) {
    if (Date.parse(record.updated_at) < Date.parse(since)) break;
    if (namespaces.length > 0 && !namespaces.includes(record.namespace)) continue;
    if (records.length >= CHANGED_MAX) return { records, isCut: true };
    records.push(record);
  }
  return { records, isCut: false };
}
