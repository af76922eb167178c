/** Budgets of calls to providers, and how those who ask share what is bounded: who has most leaves room for the others. */

import { Portions } from '../../base/lifecycle/portions.ts';
import type { FeedName } from './feeds.ts';
import type { RateLimit } from './source.ts';

/** Whose question it is. No answer depends on it, only whether there is room for the question now. */
export interface Asker {
  /** The node that passed the question on; '': this process. */
  readonly node: string;
  /** Twice the share of its network (`queueShare`), plus 1 where its address may be forged. Below ASKER_SHARES. */
  readonly share: number;
  /** What it asks for, where feeds share what is bounded. */
  readonly feed?: FeedName;
}

export const ASKER_SHARES = 128;

/** Its name. Names of nodes have no spaces. */
export function askerName({ node, share }: Asker): string {
  return `${node} ${share}`;
}

/** At most so many times what is left. */
const OF_ASKER = 1;
const OF_FORGEABLE = 3;
const OF_NODE = 4;
const OF_FEED = 2;

/** The asker and the groups around it, each with how much it may have. */
function groupsOf(asker: Asker): readonly (readonly [name: string, times: number])[] {
  const { node, share, feed } = asker;
  const groups: [string, number][] = [[askerName(asker), OF_ASKER]];
  if (share % 2 === 1) groups.push([`${node} forgeable`, OF_FORGEABLE]);
  if (node !== '') groups.push([`${node} all`, OF_NODE]);
  if (feed !== undefined) groups.push([`${node} feed ${feed}`, OF_FEED]);
  return groups;
}

/**
 * What each asker has of something bounded: at most as much as is left. So one that takes all it can leaves half, and there always is room
 * for another. Addresses that may be forged leave a quarter to proven ones, however many they are, and a node leaves a fifth to others. One feed,
 * whoever asks for it, leaves a third to the others.
 */
export class Shares {
  readonly #taken = new Portions<string>();

  /** @param left of all that there is */
  hasRoom(asker: Asker, left: number): boolean {
    if (left < 1) return false;
    return groupsOf(asker).every(([name, times]) => this.#taken.of(name) + 1 <= times * left);
  }

  take(asker: Asker): void {
    for (const [name] of groupsOf(asker)) this.#taken.add(name, 1);
  }

  giveBack(asker: Asker): void {
    for (const [name] of groupsOf(asker)) this.#taken.add(name, -1);
  }

  /** Everyone keeps this part of what it has (`Portions`). */
  keep(part: number): void {
    this.#taken.keep(part);
  }
}

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
  /** Who has the tokens that are not there. */
  readonly shares: Shares;
  tokens: number;
}

/** One token bucket per limit; a call needs a token of each, and room in its share. At most 90 % of any limit in any period. */
export class Budget {
  private readonly buckets: readonly Bucket[];
  private at: number;

  constructor(limits: readonly RateLimit[], now: number) {
    this.buckets = limits.map(({ calls, perMs }) => {
      const capacity = Math.max(1, Math.floor((calls * SHARE) / 2));
      return { capacity, refill: capacity / perMs, shares: new Shares(), tokens: capacity };
    });
    this.at = now;
  }

  /** Takes a token. Returns 0, or milliseconds until one is available: the same to all who have no room, whatever they took. */
  take(now: number, asker: Asker): number {
    this.fill(now);
    let wait = 0;
    for (const { tokens, refill, shares } of this.buckets) {
      if (tokens < 1) wait = Math.max(wait, Math.ceil((1 - tokens) / refill));
      else if (!shares.hasRoom(asker, tokens)) wait = Math.max(wait, Math.ceil(1 / refill));
    }
    if (wait > 0) return wait;
    for (const bucket of this.buckets) {
      bucket.tokens -= 1;
      bucket.shares.take(asker);
    }
    return 0;
  }

  state(): BudgetState {
    return { tokens: this.buckets.map(({ tokens }) => tokens), at: this.at };
  }

  /** Restores a saved state and refills the buckets for the time since then. Who took what is not kept. */
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
      const missing = bucket.capacity - bucket.tokens;
      if (missing <= 0) continue;
      const stillMissing = Math.max(0, missing - elapsed * bucket.refill);
      bucket.shares.keep(stillMissing / missing);
      bucket.tokens = bucket.capacity - stillMissing;
    }
  }
}
