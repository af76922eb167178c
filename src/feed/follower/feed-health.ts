import type { Clock } from '../../base/clock.ts';

/** After this silence a source counts as cut off, even during a call. */
const SILENCE_MS = 8_000;

/** When the follower last succeeded, and how old its missing changes are. Times are milliseconds since the epoch. */
export interface FeedHealth {
  /** A pass that began at this time succeeded: the view has everything announced before. */
  passed(began: number): void;
  failed(): void;
  /** A change that the view lacks was made, or announced, at this time. */
  heardOf(at: number): void;
  /** Null before the first successful pass. */
  currentAt(): number | null;
  /** True before the first pass, after a failed one, and while the source is silent. */
  isStale(): boolean;
  /** Age in seconds of the oldest change that the view may lack. While it is stale, counted from `currentAt`. */
  lagSeconds(): number;
}

/** @param heardAt of the source */
export function createFeedHealth(clock: Clock, heardAt: () => number | null): FeedHealth {
  const startedAt = clock();
  let passedAt: number | null = null;
  let isFailing = false;
  /** When the oldest missing change was made or first announced; null when none is missing. */
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
    // Either way: a clock that was set back makes nothing newer.
    isStale: () =>
      isFailing || passedAt === null || Math.abs(clock() - (heardAt() ?? startedAt)) > SILENCE_MS,
    lagSeconds() {
      const now = clock();
      const behindMs = behindSince === null ? 0 : now - behindSince;
      const staleMs = health.isStale() ? now - (health.currentAt() ?? startedAt) : 0;
      return Math.max(0, behindMs, staleMs) / 1000;
    },
  };
  return health;
}
