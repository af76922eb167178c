import { sumsOf, type UsageCount, type UsageSink } from '../../../src/feed/ports/usage-sink.ts';

interface MemoryUsage extends UsageSink {
  /** In any order. */
  sums(): readonly UsageCount[];
}

/** Usage in memory, for tests. */
export function createMemoryUsage(): MemoryUsage {
  const batches = new Set<string>();
  const sums = new Map<string, UsageCount>();
  return {
    sums: () => [...sums.values()],
    async add(batch) {
      const counts = sumsOf(batch);
      const id = JSON.stringify([batch.node, batch.batch]);
      if (batches.has(id)) return;
      batches.add(id);
      for (const count of counts) {
        const key = `${count.namespaceId} ${count.hour}`;
        sums.set(key, { ...count, answers: count.answers + (sums.get(key)?.answers ?? 0) });
      }
    },
  };
}
