import type { ChangeBody } from '../../core/change.ts';

export interface HostedNamespace {
  readonly publicRead: boolean;
  readonly suspended: boolean;
}

export interface HostedToken {
  readonly namespace: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface HostedRecord {
  /** Decoded payload, at most 2,586 bytes. */
  readonly data: Uint8Array;
  /** The envelope's `f`. */
  readonly format: string;
  readonly ttlSeconds: number;
  /** Milliseconds since the epoch, or null: never. */
  readonly expiresAt: number | null;
}

/** The read side: synchronous, so that an answer needs no promise. Names, keys and digests are in lower case. */
export interface HostedView {
  namespace(name: string): HostedNamespace | null;
  /** @param digest lower-case hex SHA-256 of the presented token */
  token(digest: string): HostedToken | null;
  /** Includes records past their `expiresAt` that the erasure has not reached yet: the caller drops them. */
  record(key: string): HostedRecord | null;
  /** Whether any record's key equals the labels of `suffix` or ends with them (`res.ns.v1`, `ns.v1`). */
  anyBelow(suffix: string): boolean;
  /** Makes the next read see everything committed so far. Cheap when nothing was. */
  refresh(): void;
}

/**
 * The write side, held by the follower alone. An error whose `code` is ENOSPC says that the disk is full: what was applied
 * before stays, and the same call may succeed later.
 */
export interface ViewWriter {
  /** `seq` of the last change applied, or null for a view that holds nothing and must be built. */
  cursor(): number | null;
  /** Names the database that the view was built from (`LogBounds.epoch`); null for a view that holds nothing. */
  epoch(): string | null;
  /** True once what is on disk is gone or was replaced: readers still see the view, but a restart would not. */
  isLost(): boolean;
  /** Applies the bodies in order and moves the cursor, in one transaction: after a crash both are there or neither. */
  apply(changes: readonly ChangeBody[], cursor: number): Promise<void>;
  /** Begins a view beside this one, which serves meanwhile as it is. One at a time. */
  rebuild(): Promise<ViewRebuild>;
  close(): Promise<void>;
}

/** A view that is being built. Readers see nothing of it before `finish`. */
export interface ViewRebuild {
  /** Adds a page of the snapshot. Of two upserts of one key the later counts. @throws RangeError for anything but upserts */
  load(changes: readonly ChangeBody[]): Promise<void>;
  /** Applies changes on top, then replaces the serving view in one step: after a crash the old one is there or the new one. */
  finish(changes: readonly ChangeBody[], cursor: number, epoch: string): Promise<void>;
  /** Gives it up. Does nothing after `finish`. */
  discard(): Promise<void>;
}
