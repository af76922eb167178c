import type { Clock } from '../../base/time.ts';
import { ChangeFormatError } from '../../protocol/changes/change-codec.ts';

/** After this silence a source counts as cut off, even during a call. */
const SILENCE_MS = 8_000;

/** When the follower last succeeded, and how old its missing changes are. Times are milliseconds since the epoch. */
interface FeedHealth {
  /** A pass that began at this time succeeded: the view has everything announced before. */
  passed(began: number): void;
  failed(): void;
  /** A change that the view lacks was made, or announced, at this time. */
  heardOf(at: number): void;
  /** Null before the first successful pass, and before the source's origin was heard. */
  currentAt(): number | null;
  /** True before the first pass, after a failed one, and while the source's origin is silent. */
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
    // A copy of the log proves nothing: what the source's origin has besides, only the origin tells.
    currentAt() {
      const at = heardAt();
      return passedAt === null || at === null ? null : Math.min(passedAt, at);
    },
    // Either way: a clock that was set back makes nothing newer.
    isStale() {
      const at = heardAt();
      return isFailing || passedAt === null || at === null || Math.abs(clock() - at) > SILENCE_MS;
    },
    lagSeconds() {
      const now = clock();
      const behindMs = behindSince === null ? 0 : now - behindSince;
      const staleMs = health.isStale() ? now - (health.currentAt() ?? startedAt) : 0;
      return Math.max(0, behindMs, staleMs) / 1000;
    },
  };
  return health;
}

/**
 * Why a view does not follow. `source`: unreachable or failing. `view`: cannot be written. `disk_full`: its disk is full. `other_store`:
 * the view was built from another database. `format`: this release cannot read a change of the log.
 */
export type FeedFault = 'source' | 'view' | 'disk_full' | 'other_store' | 'format';

/** The log does not continue at the view's cursor: changes are missing. */
export class LogGapError extends Error {
  constructor() {
    super('the change log has a gap');
    this.name = 'LogGapError';
  }
}

/** The source is another database than the view's. Nothing is applied until the operator decides. */
export class OtherStoreError extends Error {
  constructor() {
    super(
      'the database is not the one that the edge view was built from: it was lost, emptied or exchanged. Put the right database ' +
        'back (docs/operations/restore.md), or start once with --accept-new-store to serve what is in this one',
    );
    this.name = 'OtherStoreError';
  }
}

/** @param at which call failed */
export function faultOf(error: unknown, at: 'source' | 'view'): FeedFault {
  if (error instanceof OtherStoreError) return 'other_store';
  if (error instanceof ChangeFormatError) return 'format';
  // Also of a source: it puts a snapshot that it downloads on the disk.
  if ((error as { code?: unknown } | null)?.code === 'ENOSPC') return 'disk_full';
  return at;
}

/** The second report of an outage comes after a minute, each further one after twice the time. */
const SECOND_REPORT_MS = 60_000;

/** Selects the failed attempts to report: the first, each new cause, then ever fewer. */
interface FailureReports {
  isDue(fault: FeedFault): boolean;
  recovered(): void;
}

export function createFailureReports(clock: Clock): FailureReports {
  let last: FeedFault | null = null;
  let since = 0;
  let waitMs = SECOND_REPORT_MS;
  return {
    isDue(fault) {
      const now = clock();
      if (fault !== last) {
        if (last === null) since = now;
        last = fault;
        return true;
      }
      if (now - since < waitMs) return false;
      waitMs *= 2;
      return true;
    },
    recovered() {
      last = null;
      waitMs = SECOND_REPORT_MS;
    },
  };
}

/** When a view got its newest changes. */
interface AppliedTimes {
  /** The view has every change up to `seq` now. */
  note(seq: number): void;
  /** Milliseconds since the epoch; null: not yet, or too long ago. */
  at(seq: number): number | null;
}

/** Batches of changes whose time is kept: on a node with constant writes, those of a minute or more. */
const KEPT = 1024;

/** @param start the last change that the view has already */
export function createAppliedTimes(clock: Clock, start: number, kept = KEPT): AppliedTimes {
  /** The first is the last change whose time is not known. Ascending. */
  let known = [{ seq: start, at: 0 }];
  return {
    note(seq) {
      const last = known.at(-1)!;
      // A view of another database begins with a smaller number.
      if (seq < last.seq) known = [{ seq: 0, at: 0 }];
      if (seq === known.at(-1)!.seq) return;
      known.push({ seq, at: clock() });
      if (known.length > kept + 1) known.shift();
    },
    at(seq) {
      if (seq <= known[0]!.seq) return null;
      return known.find((batch) => batch.seq >= seq)?.at ?? null;
    },
  };
}
