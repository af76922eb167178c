import type { RateLimit } from './source.ts';

/** Plain data, for the snapshot. */
export interface BudgetState {
  /** One a limit. */
  readonly tokens: readonly number[];
  readonly at: number;
}

/**
 * The share of a limit that is used. A bucket admits at most its capacity and one refill in any period of its length, so
 * half of this share is the capacity, and the other half comes back during the period.
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

  /** Takes over what was left at an earlier time; the passing of time since then counts. */
  restore(state: BudgetState, now: number): void {
    if (state.tokens.length !== this.buckets.length || state.at > now) return;
    for (const [i, bucket] of this.buckets.entries()) {
      bucket.tokens = Math.min(bucket.capacity, Math.max(0, state.tokens[i]!));
    }
    this.at = state.at;
    this.fill(now);
  }

  private fill(now: number): void {
    // A clock that goes back gives nothing, and takes nothing.
    const elapsed = Math.max(0, now - this.at);
    this.at = now;
    for (const bucket of this.buckets) {
      bucket.tokens = Math.min(bucket.capacity, bucket.tokens + elapsed * bucket.refill);
    }
  }
}
