/** Downloads on the disk: `<directory>/<kind>`, at most one of each kind. */
import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SnapshotKind } from './manifest.ts';

const MODE_FILE = 0o600;
const MODE_DIRECTORY = 0o700;

/** @param directory is made when it is missing; on the file system of the view, so that a file can be moved there */
export function diskFiles(directory: string): SnapshotFiles {
  return {
    async create(kind) {
      await mkdir(directory, { recursive: true, mode: MODE_DIRECTORY });
      const path = join(directory, kind);
      await rm(path, { force: true });
      const file = await open(path, 'wx', MODE_FILE);
      return {
        async write(part) {
          for (let at = 0; at < part.length; ) {
            at += (await file.write(part, at, part.length - at)).bytesWritten;
          }
        },
        async finish() {
          await file.close();
          return path;
        },
        async discard() {
          await file.close();
          await rm(path, { force: true });
        },
      };
    },
  };
}

/** Puts a downloaded file in place of another one, in one step and on disk. @param changedAt becomes its time, milliseconds */
export async function installFile(from: string, to: string, changedAt: number): Promise<void> {
  const seconds = changedAt / 1000;
  await utimes(from, seconds, seconds);
  const file = await open(from, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(from, to);
  const folder = await open(dirname(to), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** When the file was changed, whole milliseconds since the epoch; null when there is none. */
export async function changedAt(path: string): Promise<number | null> {
  try {
    return Math.round((await stat(path)).mtimeMs);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Where a node puts what it downloads. Over the disk, and in memory for tests. */
export interface SnapshotFiles {
  /** A new file of the kind in place of an earlier one that was not taken. */
  create(kind: SnapshotKind): Promise<FileDraft>;
}

/** A file that is being written; nobody reads it. Calls reject with an error whose `code` is ENOSPC when the disk is full. */
interface FileDraft {
  write(part: Uint8Array): Promise<void>;
  /** @returns the path of the whole file, which belongs to the caller */
  finish(): Promise<string>;
  discard(): Promise<void>;
}
