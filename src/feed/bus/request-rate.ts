/** How much of each node is served: a bucket of tokens for each name. Names are of the feed's nodes, so their number is bounded. */
import type { Clock } from '../../base/clock.ts';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface RequestRate {
  /** Takes tokens, one unless told otherwise. @returns false when the node has none left; what it has may be less than what it takes */
  admits(node: string, tokens?: number): boolean;
  /** Takes tokens for what was done already. */
  charge(node: string, tokens: number): void;
}

export function createRequestRate({ perSecond, burst }: Rate, clock: Clock): RequestRate {
  const buckets = new Map<string, { tokens: number; at: number }>();

  function bucketOf(node: string): { tokens: number } {
    const now = clock();
    const bucket = buckets.get(node) ?? { tokens: burst, at: now };
    buckets.set(node, bucket);
    // A clock that was set back adds none.
    const passed = Math.max(0, now - bucket.at) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + passed * perSecond);
    bucket.at = now;
    return bucket;
  }

  return {
    admits(node, tokens = 1) {
      const bucket = bucketOf(node);
      // A message may be larger than a bucket: it leaves a debt.
      if (bucket.tokens < 1) return false;
      bucket.tokens -= tokens;
      return true;
    },
    charge(node, tokens) {
      bucketOf(node).tokens -= tokens;
    },
  };
}
