import type { QueryLogRow } from '../../../src/feed/ports/query-log.ts';
import { queryLogSink } from '../../../src/store/query-log/add-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { queryLogRow } from '../feed/ports/query-log-suite.ts';

export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** Neither the start of a minute nor of an hour. */
export const NOW = Date.UTC(2026, 0, 2, 12, 34, 56, 789);

let batches = 0;

/** Adds rows as a node does: one batch, with an id that no other has. */
export async function addRows(store: Store, rows: readonly QueryLogRow[], now: number = NOW): Promise<void> {
  batches++;
  await queryLogSink(store, () => now).add({ node: 'node1', batch: String(batches), rows, dropped: [] });
}

/** `count` rows of one namespace, spread evenly over the time from `since` to before `until`. */
export function spread(
  namespaceId: string,
  { since, until, count }: { readonly since: number; readonly until: number; readonly count: number },
  parts: Partial<QueryLogRow> = {},
): QueryLogRow[] {
  const step = (until - since) / count;
  return Array.from({ length: count }, (_, i) =>
    queryLogRow(namespaceId, Math.floor(since + i * step), parts),
  );
}
