export interface Concurrency {
  /** Returns a function that leaves, safe to call twice; null at a limit. @param key such as a customer id */
  enter(key: string): (() => void) | null;
}

interface ConcurrencyLimits {
  readonly perKey: number;
  readonly total: number;
}

export function createConcurrency({ perKey, total }: ConcurrencyLimits): Concurrency {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    enter(key) {
      const count = counts.get(key) ?? 0;
      if (count >= perKey || all >= total) return null;
      counts.set(key, count + 1);
      all++;
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        all--;
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      };
    },
  };
}
