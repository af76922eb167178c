import type { Change, ChangeBody } from '../../protocol/change.ts';

/** Ends of the log that a source still holds. `oldest` is the first seq that `since` can give, head + 1 when it is empty. */
export interface LogBounds {
  /** Identifies the log's database. A cursor is invalid in the log of another epoch. */
  readonly epoch: string;
  readonly oldest: number;
  readonly head: number;
  /** Of a copy, while its origin is away: the origin may have another epoch by now. */
  readonly isCopy?: true;
}

/** A start state: complete only together with every change after `seq`, up to `end` at least. */
export interface Snapshot {
  readonly epoch: string;
  /** The first change that may be missing from the pages is `seq` + 1. */
  readonly seq: number;
  /**
   * Upserts in batches: namespaces, tokens, records, then attestation keys, items of every version that is served or
   * being imported, and manifests of the served ones. Items of an import are needed: the log may have pruned them, and
   * the change that publishes them comes later. Can be read once.
   */
  readonly pages: AsyncIterable<readonly ChangeBody[]>;
  /**
   * Called once all pages were read: where the log ended after that, as its origin says now. The pages are of different moments, and together with every
   * change up to there of one.
   */
  readonly end: () => Promise<Pick<LogBounds, 'epoch' | 'head'>>;
}

/** A start state as a file on this node's disk, whose content is what its maker signed. */
export interface SnapshotFile {
  readonly epoch: string;
  /** The view in the file has every change up to this one. */
  readonly seq: number;
  /** The view takes the file over, or removes it. */
  readonly file: string;
  /** The file does not hold what it should, or the log does not continue it: the source gives another snapshot next. */
  refuse(): void;
}

/**
 * The source of a view's changes, implemented by the store. Calls reject when the source cannot be reached, and with `ChangeFormatError`
 * for an unreadable change. The follower retries.
 */
export interface ChangeSource {
  bounds(): Promise<LogBounds>;
  /**
   * Changes with a greater `seq`, ascending and without a gap, at most `limit`. Where the last one has items of a dataset, there
   * may be more.
   * @param epoch of the log that `seq` is of. None where the log has another epoch by now: `bounds` tells of it
   */
  since(epoch: string, seq: number, limit: number): Promise<readonly Change[]>;
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

/** What a follower reads: its source may give files. */
export interface ViewSource extends Omit<ChangeSource, 'openSnapshot'> {
  /** @param signal ends it: a file may take minutes to come */
  openSnapshot(signal?: AbortSignal): Promise<Snapshot | SnapshotFile>;
}
