/** Files that control keeps for its nodes: a changed one is put beside the snapshots, and each node takes it. */

import { join } from 'node:path';
import {
  DiskFullError,
  type Files,
  freeOctets,
  installFile,
  makeFolder,
  readParts,
  systemFiles,
} from '../../base/files.ts';
import { every, type Repeating } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
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

/** What the making of snapshots may take of the disk of a path, octets. The database may be on it, and must have room for writes. */
export function roomForSnapshots(path: string, free = freeOctets): number {
  return free(path) - LIMITS.feedSnapshotReserve;
}

/**
 * @param directory is made when it is missing; on the file system of the view, so that a file can be moved there
 * @param free room on the disk of a path, octets. A part for which there is none is a DiskFullError
 */
export function diskFiles(
  directory: string,
  files: Files = systemFiles,
  free: Files['freeOctets'] = (path) => files.freeOctets(path),
): SnapshotFiles {
  return {
    async create(kind) {
      await makeFolder(directory, MODE_DIRECTORY, files);
      const path = join(directory, kind);
      await files.async.remove(path);
      const file = await files.async.open(path, 'wx', MODE_FILE);
      let octets = 0;
      return {
        async write(part) {
          if (free(directory) < part.length) throw new DiskFullError(path);
          await file.write(part, octets);
          octets += part.length;
        },
        async finish() {
          await file.close();
          return path;
        },
        async discard() {
          await file.close();
          await files.async.remove(path);
        },
      };
    },
  };
}

/** A file in a data directory, as control puts it and a node replaces it. */
export function sharedFile(kind: SharedFile['kind'], path: string, files: Files = systemFiles): SharedFile {
  return {
    kind,
    async changedAt() {
      const found = await files.async.facts(path);
      return found === null ? null : Math.round(found.changedMs);
    },
    read: () => readParts(path, files),
    replace: (from, changedAt) => installFile(from, path, changedAt, files),
  };
}
