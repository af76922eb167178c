import type { SnapshotKind } from './manifest.ts';

/** Where a node puts what it downloads. Over the disk, and in memory for tests. */
export interface SnapshotFiles {
  /** A new file of the kind in place of an earlier one that was not taken. */
  create(kind: SnapshotKind): Promise<FileDraft>;
}

/** A file that is being written; nobody reads it. Calls reject with an error whose `code` is ENOSPC when the disk is full. */
export interface FileDraft {
  write(part: Uint8Array): Promise<void>;
  /** @returns the path of the whole file, which belongs to the caller */
  finish(): Promise<string>;
  discard(): Promise<void>;
}
