import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Change } from '../../protocol/change.ts';
import type { Marks } from '../engine/signals.ts';

/** More than this many changes are left to the database. A page of the follower has as many. */
export const RECENT_MAX = 1_000;
/** Milliseconds after which what nobody read is forgotten: a reader that is awake comes within a few. */
export const RECENT_MS = 100;

interface RecentChangesOptions {
  /** Whether somebody is told of commits. Nothing is kept otherwise. */
  readonly isHeard: () => boolean;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly timers?: Timers | undefined;
}

/**
 * The changes that this process committed last, so that the follower need not read and decode them again. They are what the log had at
 * the end of that commit: another process may have appended since, as it may have after any read of the log.
 */
export interface RecentChanges {
  /** Called after each commit, before anybody is told of it. */
  committed(marks: Marks): void;
  /**
   * Gives the changes that follow `seq` in the log of this epoch, once.
   * @param head the last change that this process knows of
   * @returns null unless they are here without a gap up to `head`: then the log must be read
   */
  take(epoch: string, seq: number, limit: number, head: number | null): TakenChanges | null;
  forget(): void;
}

interface TakenChanges {
  readonly changes: readonly Change[];
  /** When the log ended with the last change that was kept, milliseconds since the epoch. */
  readonly at: number;
}

export function createRecentChanges({
  isHeard,
  clock,
  timers = backgroundTimers,
}: RecentChangesOptions): RecentChanges {
  let kept: readonly Change[] = [];
  /** Of the log that has them. */
  let keptEpoch: string | null = null;
  let at = 0;
  let cancel: (() => void) | null = null;

  function forget(): void {
    kept = [];
    cancel?.();
    cancel = null;
  }

  return {
    committed({ seq, epoch, changes, isErasure }) {
      // An erased payload must not come back from here.
      if (isErasure) forget();
      if (seq === null) return;
      if (changes === null || !isHeard() || changes.length > RECENT_MAX) return forget();
      const isNext = epoch === keptEpoch && kept.at(-1)?.seq === changes[0]!.seq - 1;
      const all = isNext ? kept.concat(changes) : changes;
      if (all.length > RECENT_MAX) return forget();
      kept = all;
      keptEpoch = epoch;
      at = clock();
      cancel ??= timers.after(RECENT_MS, forget);
    },
    take(epoch, seq, limit, head) {
      const last = kept.at(-1);
      if (epoch !== keptEpoch) return null;
      if (last === undefined || last.seq !== head || seq >= last.seq || kept[0]!.seq > seq + 1) return null;
      const first = seq + 1 - kept[0]!.seq;
      const changes = first === 0 && kept.length <= limit ? kept : kept.slice(first, first + limit);
      kept = kept.slice(first + changes.length);
      if (kept.length === 0) forget();
      return { changes, at };
    },
    forget,
  };
}
