import type { Clock } from '../../base/clock.ts';
import { ChangeFormatError } from '../../protocol/changes/change-codec.ts';

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
export interface FailureReports {
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
