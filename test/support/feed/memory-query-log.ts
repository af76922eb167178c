import {
  checkQueryLogBatch,
  type QueryLogRow,
  type QueryLogSink,
} from '../../../src/feed/ports/query-log.ts';

interface MemoryQueryLog extends QueryLogSink {
  /** In the order in which they came, with the node that sent them. */
  rows(): readonly (QueryLogRow & { readonly node: string })[];
  /** Of one namespace, or of all. */
  dropped(namespaceId?: string): number;
}

/** A query log in memory, for tests. */
export function createMemoryQueryLog(): MemoryQueryLog {
  const batches = new Set<string>();
  const rows: (QueryLogRow & { readonly node: string })[] = [];
  const dropped = new Map<string, number>();
  return {
    rows: () => rows,
    dropped: (namespaceId) =>
      namespaceId === undefined
        ? [...dropped.values()].reduce((sum, count) => sum + count, 0)
        : (dropped.get(namespaceId) ?? 0),
    async add(batch) {
      checkQueryLogBatch(batch);
      const id = JSON.stringify([batch.node, batch.batch]);
      if (batches.has(id)) return;
      batches.add(id);
      for (const row of batch.rows) rows.push({ ...row, node: batch.node });
      for (const { namespaceId, rows: lost } of batch.dropped) {
        dropped.set(namespaceId, lost + (dropped.get(namespaceId) ?? 0));
      }
    },
  };
}
