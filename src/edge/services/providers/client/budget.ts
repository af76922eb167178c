import type { RateLimit } from '../sources/source.ts';

/** Plain data, for the snapshot. */
export interface BudgetState {
  /** One number for each limit. */
  readonly tokens: readonly number[];
  readonly at: number;
}

/**
 * The share of a limit that is used. In any period a bucket admits at most its capacity and one refill. So half of this share
 * is the capacity, and the other half is refilled during the period.
 */
const SHARE = 0.9;

interface Bucket {
  readonly capacity: number;
  /** Tokens a millisecond. */
  readonly refill: number;
  tokens: number;
}

/** Token buckets, one a limit: a call needs one token of each. Never more calls than 90 % of any limit in any period. */
export class Budget {
  private readonly buckets: readonly Bucket[];
  private at: number;

  constructor(limits: readonly RateLimit[], now: number) {
    this.buckets = limits.map(({ calls, perMs }) => {
      const capacity = Math.max(1, Math.floor((calls * SHARE) / 2));
      return { capacity, refill: capacity / perMs, tokens: capacity };
    });
    this.at = now;
  }

  /** Takes a token. @returns 0, or milliseconds until there is one */
  take(now: number): number {
    this.fill(now);
    let wait = 0;
    for (const { tokens, refill } of this.buckets) {
      if (tokens < 1) wait = Math.max(wait, Math.ceil((1 - tokens) / refill));
    }
    if (wait === 0) for (const bucket of this.buckets) bucket.tokens -= 1;
    return wait;
  }

  state(): BudgetState {
    return { tokens: this.buckets.map(({ tokens }) => tokens), at: this.at };
  }

  /** Restores an earlier state and refills the buckets for the time since then. */
  restore(state: BudgetState, now: number): void {
    if (state.tokens.length !== this.buckets.length || state.at > now) return;
    for (const [i, bucket] of this.buckets.entries()) {
      bucket.tokens = Math.min(bucket.capacity, Math.max(0, state.tokens[i]!));
    }
    this.at = state.at;
    this.fill(now);
  }

  private fill(now: number): void {
    // A clock that was set back refills nothing and removes nothing.
    const elapsed = Math.max(0, now - this.at);
    this.at = now;
    for (const bucket of this.buckets) {
      bucket.tokens = Math.min(bucket.capacity, bucket.tokens + elapsed * bucket.refill);
    }
  }
}
