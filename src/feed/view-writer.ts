import type { ChangeBody } from '../core/change.ts';

/**
 * The view of a node, as the follower writes it. An error whose `code` is ENOSPC says that the disk is full: what was applied
 * before stays, and the same call may succeed later.
 */
export interface ViewWriter {
  /** `seq` of the last change applied, or null for a view that holds nothing and must be built. */
  cursor(): number | null;
  /** Names the database that the view was built from (`LogBounds.epoch`); null for a view that holds nothing. */
  epoch(): string | null;
  /** True once the files on disk were removed or replaced: readers still see the view, but a restart would not. */
  isLost(): boolean;
  /** Applies the bodies in order and moves the cursor, in one transaction: after a crash both are there or neither. */
  apply(changes: readonly ChangeBody[], cursor: number): Promise<void>;
  /** Starts another view beside this one, which serves unchanged meanwhile. One at a time. */
  rebuild(): Promise<ViewRebuild>;
  close(): Promise<void>;
}

/** A view that is being built. Readers see nothing of it before `finish`. */
export interface ViewRebuild {
  /** Adds a page of the snapshot. Of two upserts of one key the later counts. @throws RangeError for anything but upserts */
  load(changes: readonly ChangeBody[]): Promise<void>;
  /** Applies changes on top, then replaces the serving view in one step: after a crash the old one is there or the new one. */
  finish(changes: readonly ChangeBody[], cursor: number, epoch: string): Promise<void>;
  /** Removes what was built. Does nothing after `finish`. */
  discard(): Promise<void>;
}
