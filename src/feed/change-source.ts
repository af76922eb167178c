import type { Change, ChangeBody } from '../core/change.ts';

/** Ends of the log that a source still holds. `oldest` is the first seq that `since` can give, head + 1 when it is empty. */
export interface LogBounds {
  /** Names the database that the log belongs to. A cursor means nothing in the log of another epoch. */
  readonly epoch: string;
  readonly oldest: number;
  readonly head: number;
}

/** A state to begin from: true only together with every change after `seq`. */
export interface Snapshot {
  readonly epoch: string;
  /** The first change that may be missing from the pages is `seq` + 1. */
  readonly seq: number;
  /** The state as upserts, in batches: namespaces first, then tokens, then records. Can be read once. */
  readonly pages: AsyncIterable<readonly ChangeBody[]>;
}

/**
 * Where a view gets its changes. Implemented by the store (SQLite, PostgreSQL); a bus is another implementation.
 *
 * Calls reject when the source cannot be reached, and with `ChangeFormatError` for a change that cannot be read. The follower
 * retries.
 */
export interface ChangeSource {
  bounds(): Promise<LogBounds>;
  /** Changes with a greater `seq`, ascending and without a gap, at most `limit`; none when there are none yet. */
  since(seq: number, limit: number): Promise<readonly Change[]>;
  /** Writes may go on while the pages are read: the log has what they miss. */
  openSnapshot(): Promise<Snapshot>;
  /**
   * Calls back after a commit that appended changes, with the `seq` of the last of them. A call may be lost, come twice or
   * come out of order: a hint, not a message. Returns the way to stop.
   */
  onChange(listener: (seq: number) => void): () => void;
  /**
   * When what this source says was last known to be current, milliseconds since the epoch by this process's clock; null before
   * the first time. A source that answers from a copy counts from the last sign of the origin, not from its own answer.
   */
  heardAt(): number | null;
}
