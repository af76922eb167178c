import type { Change, ChangeBody } from '../core/change.ts';

/** Ends of the log that a source still holds. `oldest` is the first seq that `since` can give, head + 1 when it is empty. */
export interface LogBounds {
  /** Names the database that the log belongs to. A cursor means nothing in the log of another epoch. */
  readonly epoch: string;
  readonly oldest: number;
  readonly head: number;
}

/**
 * Where changes come from. Implemented by the store, and later by a replicated stream.
 *
 * All methods reject when the source cannot be reached; the follower tries again.
 */
export interface ChangeSource {
  bounds(): Promise<LogBounds>;
  /** Changes with a greater `seq`, ascending and without a gap, at most `limit`; none when there are none yet. */
  since(seq: number, limit: number): Promise<readonly Change[]>;
  /**
   * The present state as upserts, in batches: namespaces first, then tokens, then records. Taken page by page while writes
   * go on, so it is true only together with every change after the head that was read before it began.
   */
  snapshot(): AsyncIterable<readonly ChangeBody[]>;
  /**
   * Calls back after a commit that appended changes, with the `seq` of the last of them. A call may be lost, come twice or
   * come out of order: a hint, not a message. Returns the way to stop.
   */
  onChange(listener: (seq: number) => void): () => void;
}
