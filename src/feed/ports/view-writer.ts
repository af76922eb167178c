import type { AppliedChange, ChangeBody } from '../../protocol/change.ts';

/**
 * Write access to a node's view, for the follower. An error with `code` ENOSPC means a full disk: earlier changes stay,
 * and the same call may succeed later.
 */
export interface ViewWriter {
  /** `seq` of the last change applied; null for a view that is empty and must be built. */
  cursor(): number | null;
  /** `LogBounds.epoch` of the view's database; null for an empty view. */
  epoch(): string | null;
  /** True once files on disk were removed, replaced or found to be damaged: readers still have the view, a restart would not. */
  isLost(): boolean;
  /** Applies the bodies in order and moves the cursor, in one transaction. */
  apply(changes: readonly AppliedChange[], cursor: number): Promise<void>;
  /** Starts to build another view while this one serves. One at a time. */
  rebuild(): Promise<ViewRebuild>;
  close(): Promise<void>;
}

/** A view in a file does not hold what it was said to hold, or this release cannot read it. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';

  constructor() {
    super('the file of a snapshot is no view that this release can read');
  }
}

/** A view that is being built. Readers see nothing of it before `finish`. */
export interface ViewRebuild {
  /**
   * Adds a page of the snapshot. Of two upserts of one key the later counts. @throws RangeError for anything but upserts and withdrawals of versions of datasets
   */
  load(changes: readonly ChangeBody[]): Promise<void>;
  /**
   * Instead of pages: a whole view in a file, which is moved, or removed when it cannot be used.
   * @param has cursor and epoch of the view in the file
   * @throws UnfitFileError
   */
  adopt(file: string, has: { readonly epoch: string; readonly seq: number }): Promise<void>;
  /** After `adopt`, or after the last page: applies changes that follow. Readers see nothing of it yet. */
  apply(changes: readonly AppliedChange[], cursor: number): Promise<void>;
  /** Applies changes, then replaces the serving view in one step, crash included. */
  finish(changes: readonly AppliedChange[], cursor: number, epoch: string): Promise<void>;
  /** Does nothing after `finish`. */
  discard(): Promise<void>;
}
