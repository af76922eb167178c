import type { Change, ChangeBody } from '../core/change.ts';

/**
 * Ends of the log that a source still holds. `oldest` is the first seq that `since` can give, head + 1 when it is
 * empty.
 */
export interface LogBounds {
  /** Identifies the log's database. A cursor is invalid in the log of another epoch. */
  readonly epoch: string;
  readonly oldest: number;
  readonly head: number;
}

/** A start state: complete only together with every change after `seq`. */
export interface Snapshot {
  readonly epoch: string;
  /** The first change that may be missing from the pages is `seq` + 1. */
  readonly seq: number;
  /** Upserts in batches: namespaces first, then tokens, then records. Can be read once. */
  readonly pages: AsyncIterable<readonly ChangeBody[]>;
}

/**
 * The source of a view's changes, implemented by the store.
 * Calls reject when the source cannot be reached, and with `ChangeFormatError` for an unreadable change. The follower
 * retries.
 */
export interface ChangeSource {
  bounds(): Promise<LogBounds>;
  /** Changes with a greater `seq`, ascending and without a gap, at most `limit`. */
  since(seq: number, limit: number): Promise<readonly Change[]>;
  /** Writes may go on while the pages are read: the log has what they miss. */
  openSnapshot(): Promise<Snapshot>;
  /**
   * Calls back after a commit with the `seq` of its last change. A call may be lost, repeated or out of order.
   * @returns stops the calls
   */
  onChange(listener: (seq: number) => void): () => void;
  /**
   * When the source's data was last known to be current, milliseconds since the epoch by this process's clock; null
   * before that. A copy counts from the last contact with its origin, not from its own answer.
   */
  heardAt(): number | null;
}
