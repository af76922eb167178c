/** How many requests of each node are served: a bucket of tokens for each name. Names are of the feed's nodes, so their number is bounded. */
import type { Clock } from '../../core/clock.ts';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface RequestRate {
  /** Takes a token. @returns false when the node has none left */
  admits(node: string): boolean;
}

export function createRequestRate({ perSecond, burst }: Rate, clock: Clock): RequestRate {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    admits(node) {
      const now = clock();
      const bucket = buckets.get(node) ?? { tokens: burst, at: now };
      buckets.set(node, bucket);
      // A clock that was set back adds none.
      const passed = Math.max(0, now - bucket.at) / 1000;
      bucket.tokens = Math.min(burst, bucket.tokens + passed * perSecond);
      bucket.at = now;
      if (bucket.tokens < 1) return false;
      bucket.tokens--;
      return true;
    },
  };
}
