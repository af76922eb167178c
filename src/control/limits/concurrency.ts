/** Bounds how many of something are under way at once. */
export interface Concurrency {
  /**
   * Enters one.
   *
   * @param key whose it is, such as a customer's id
   * @returns a function that leaves, harmless when called again; null when the key, or all together, have no room
   */
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
