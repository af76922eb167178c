/** How often each fault and each path was reached: a simulation that never reaches a path proves nothing about it. */
export interface Counters {
  count(what: string, times?: number): void;
  all(): ReadonlyMap<string, number>;
}

export function createCounters(): Counters {
  const counts = new Map<string, number>();
  return {
    count(what, times = 1) {
      counts.set(what, (counts.get(what) ?? 0) + times);
    },
    all: () => counts,
  };
}
