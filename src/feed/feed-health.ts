import type { Clock } from '../core/clock.ts';

/** A source that has not answered for so long is taken for cut off, even if a call to it is still under way. */
const SILENCE_MS = 8_000;

/** When the follower last succeeded, and how old what it lacks is. Times are milliseconds since the epoch. */
export interface FeedHealth {
  /** The source answered a call. */
  answered(): void;
  /** A pass began, and later ended well: what was heard of before it began is in the view. */
  passed(began: number): void;
  failed(): void;
  /** A change that the view lacks was made, or was heard of, at this time. */
  heardOf(at: number): void;
  /** End of the last pass that succeeded; null before the first. */
  heardAt(): number | null;
  /** True while the view does not follow: before the first pass, after a failed one, and while the source is silent. */
  isStale(): boolean;
  /** Age in seconds of the oldest change that the view may lack. While it is stale, counted from the last pass that succeeded. */
  lagSeconds(): number;
}

export function createFeedHealth(clock: Clock): FeedHealth {
  const startedAt = clock();
  let answeredAt = startedAt;
  let passedAt: number | null = null;
  let isFailing = false;
  /** When the oldest change that the view lacks was made, or was first heard of; null when it lacks none. */
  let behindSince: number | null = startedAt;
  const health: FeedHealth = {
    answered() {
      answeredAt = clock();
    },
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
    heardAt: () => passedAt,
    isStale: () => isFailing || passedAt === null || clock() - answeredAt > SILENCE_MS,
    lagSeconds() {
      const now = clock();
      const behindMs = behindSince === null ? 0 : now - behindSince;
      const staleMs = health.isStale() ? now - (passedAt ?? startedAt) : 0;
      return Math.max(0, behindMs, staleMs) / 1000;
    },
  };
  return health;
}
