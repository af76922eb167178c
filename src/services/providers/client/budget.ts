import type { RateLimit } from '../sources/source.ts';

/** Plain data, for the snapshot. */
export interface BudgetState {
  /** One number for each limit. */
  readonly tokens: readonly number[];
  readonly at: number;
}

/** Used share of a limit. A period admits at most the capacity plus one refill; each is half of this share. */
const SHARE = 0.9;

interface Bucket {
  readonly capacity: number;
  /** Tokens per millisecond. */
  readonly refill: number;
  tokens: number;
}

/** One token bucket per limit; a call needs a token of each. At most 90 % of any limit in any period. */
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

  /** Takes a token. Returns 0, or milliseconds until one is available. */
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

  /** Restores a saved state and refills the buckets for the time since then. */
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
