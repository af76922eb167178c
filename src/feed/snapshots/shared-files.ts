/** Files that control keeps for its nodes: a changed one is put beside the snapshots, and each node takes it. */

import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { every, type Repeating } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { BusError } from '../bus/bus.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import type { FileFormat, SnapshotContent, SnapshotKind } from './manifest.ts';
import type { SnapshotFiles, SnapshotReader } from './snapshot-reader.ts';

/** One file in the data directory, at control or at a node. */
export interface SharedFile {
  readonly kind: Exclude<SnapshotKind, 'view'>;
  /** When it was changed, milliseconds since the epoch; null: there is none. */
  changedAt(): Promise<number | null>;
  read(): AsyncIterable<Uint8Array>;
  /** Replaces it in one step. @param path of the downloaded file. @param changedAt becomes its time */
  replace(path: string, changedAt: number): Promise<void>;
}

const FORMAT: FileFormat = { layout: 'file', pageSize: 0, machine: 'any' };
/** A node has a changed file after this time, and the time until control puts it. */
const LOOK_MS = 60_000;

/** What control puts; null when it has no such file. @param epoch of the database */
export async function contentOf(file: SharedFile, epoch: string): Promise<SnapshotContent | null> {
  const seq = await file.changedAt();
  if (seq === null) return null;
  return { kind: file.kind, epoch, seq, format: FORMAT, content: file.read() };
}

/** @returns whether it was replaced. @throws FeedRefusedError (counted), BusError, or an error of the disk */
export async function takeFile(reader: SnapshotReader, file: SharedFile): Promise<boolean> {
  const [newest] = await reader.find(file.kind);
  if (newest === undefined) return false;
  const { manifest } = newest;
  // An older one that a broker repeats changes nothing.
  if (manifest.seq <= ((await file.changedAt()) ?? -1)) return false;
  await file.replace(await reader.download(manifest), manifest.seq);
  return true;
}

interface TakeFilesOptions {
  readonly reader: SnapshotReader;
  readonly files: readonly SharedFile[];
  /** Called when a file could not be taken. */
  readonly onError: (error: unknown) => void;
  /** Without keys the first look would be a refusal. */
  readonly ready: Promise<void>;
  readonly timers?: Timers | undefined;
}

/** Looks when it is ready, then every minute. */
export function startTakingFiles({ reader, files, onError, ready, timers }: TakeFilesOptions): Repeating {
  async function take(): Promise<void> {
    for (const file of files) {
      try {
        await takeFile(reader, file);
      } catch (error) {
        // The broker is away, or its message was counted: the next minute tries again.
        if (!(error instanceof BusError) && !(error instanceof FeedRefusedError)) onError(error);
      }
    }
  }
  let isStopped = false;
  let first: Promise<void> = Promise.resolve();
  void ready.then(() => {
    if (!isStopped) first = take();
  });
  const later = every({
    ms: LOOK_MS,
    // Two at once would write one file: half of the second would be installed in place of the first.
    async task() {
      await first;
      await take();
    },
    onError,
    ...(timers === undefined ? {} : { timers }),
  });
  return {
    async stop() {
      isStopped = true;
      await later.stop();
      await first;
    },
  };
}

/** Downloads on the disk: `<directory>/<kind>`, at most one of each kind. */

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
