import type { Clock } from '../core/clock.ts';

/** A source that was not heard from for so long counts as cut off, even while a call to it is under way. */
const SILENCE_MS = 8_000;

/** When the follower last succeeded, and how old what it lacks is. Times are milliseconds since the epoch. */
export interface FeedHealth {
  /** A pass that began at this time succeeded: what was heard of before it began is in the view. */
  passed(began: number): void;
  failed(): void;
  /** A change that the view lacks was made, or announced, at this time. */
  heardOf(at: number): void;
  /** When the view was last known to be up to date; null before the first pass that succeeded. */
  currentAt(): number | null;
  /** True while the view does not follow: before the first pass, after a failed one, and while the source is silent. */
  isStale(): boolean;
  /** Age in seconds of the oldest change that the view may lack. While it is stale, counted from `currentAt`. */
  lagSeconds(): number;
}

/** @param heardAt of the source */
export function createFeedHealth(clock: Clock, heardAt: () => number | null): FeedHealth {
  const startedAt = clock();
  let passedAt: number | null = null;
  let isFailing = false;
  /** When the oldest change that the view lacks was made, or was first heard of; null when it lacks none. */
  let behindSince: number | null = startedAt;
  const health: FeedHealth = {
    passed(began) {
      passedAt = clock();
      isFailing = false;
      if (behindSince !== null && behindSince <= began) behindSince = null;
    },
    failed() {
      isFailing = true;
    },
    heardOf(at) {
      if (behindSince === null || at < behindSince) behindSince = at;
    },
    currentAt: () => (passedAt === null ? null : Math.min(passedAt, heardAt() ?? startedAt)),
    isStale: () => isFailing || passedAt === null || clock() - (heardAt() ?? startedAt) > SILENCE_MS,
    lagSeconds() {
      const now = clock();
      const behindMs = behindSince === null ? 0 : now - behindSince;
      const staleMs = health.isStale() ? now - (health.currentAt() ?? startedAt) : 0;
      return Math.max(0, behindMs, staleMs) / 1000;
    },
  };
  return health;
}
