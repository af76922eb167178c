/**
 * Overwrites what was erased: in the file that serves, a second after a change, and in a copy of it.
 */
import { DiskFullError, type Files, freeOctets, type OpenFile, systemFiles } from '../../base/files.ts';
import { backgroundTimers, nextTurn, type Timers } from '../../base/lifecycle/timers.ts';
import { createEraser, type Eraser } from './eraser.ts';
import { DamagedPageError } from './pages.ts';
import { type Bytes, FIRST, octetsOfCopy, type Tree } from './tree.ts';
import { createPrivate, generationPath, prepareDirectory, writeState } from './view-directory.ts';

/** Pages with entries, and free pages, that one wipe reads: 4 MiB of each, ten to twenty milliseconds of the event loop. */
const PAGES_MAX = 500;

/** Tables whose values may be longer than half a page. No record is. */
const LARGE: ReadonlySet<number> = new Set([
  FIRST.datasetManifest,
  FIRST.datasetItem,
  FIRST.datasetProof,
  FIRST.datasetCheckpoint,
]);

const NOBODY_READS = Number.POSITIVE_INFINITY;

function eraserOf(file: OpenFile, { elapsed }: Timers): Eraser {
  return createEraser(file, { pagesMax: PAGES_MAX, elapsed, mayBeLarge: (first) => LARGE.has(first) });
}

export interface Wiper {
  readonly erased: () => void;
  /** Wipes after a delay, when something was erased. */
  readonly later: () => void;
  /** Looks through as much as is read at once, when something was erased; later through the rest. */
  readonly now: () => void;
  /** Whether a wipe met a page that is none of LMDB's, or not where it should be. */
  readonly isDamaged: () => boolean;
  /** Ends for good, before the tree is closed. */
  readonly close: () => void;
}

/**
 * @param path of the file of the tree, which was opened just before
 * @param afterMs 0: `later` never wipes
 */
export function createWiper(tree: Tree, path: string, afterMs: number, timers: Timers): Wiper {
  // Held, so that no other file is written to that has taken its name.
  const file = systemFiles.open(path, 'r+');
  const eraser = eraserOf(file, timers);
  // The last process may have left erased data.
  let due = true;
  let isDamaged = false;
  let isClosed = false;
  let cancel: (() => void) | null = null;
  const wiper: Wiper = {
    erased() {
      due = true;
      eraser.erased();
    },
    later() {
      if (!due || afterMs === 0 || isClosed) return;
      cancel ??= timers.after(afterMs, () => {
        cancel = null;
        wiper.now();
      });
    },
    now() {
      if (!due || isClosed) return;
      try {
        // Slots of readers that were killed.
        tree.readerCheck();
        tree.resetReadTxn();
        tree.whileLocked(() => {
          due = !eraser.erase(oldestReader(tree));
        });
      } catch (error) {
        // A disk that fails may work later.
        isDamaged ||= error instanceof DamagedPageError;
      }
      if (!isDamaged) wiper.later();
    },
    isDamaged: () => isDamaged,
    close() {
      isClosed = true;
      cancel?.();
      file.close();
    },
  };
  return wiper;
}

/** @returns the transaction, or `NOBODY_READS` */
function oldestReader(tree: Tree): number {
  const read = tree.readerList().split('\n');
  return Math.min(
    ...read.map((line) => Number(line.trim().split(/\s+/)[2])).filter((each) => !Number.isNaN(each)),
  );
}

/** Entries of a wipe of an earlier release at most, which filled free pages with them. */
const MOST_FILLING = 2000;

/** Removes what a wipe of a release before 0.2 has left, where a crash interrupted it. */
export function removeFilling(tree: Tree): void {
  const keys = [...tree.getKeys({ start: Uint8Array.of(FIRST.filling), limit: MOST_FILLING })];
  if (keys.length === 0) return;
  tree.transactionSync(() => {
    for (const key of keys) tree.removeSync(key as Bytes);
  });
}

interface CopyOptions {
  readonly files?: Files;
  readonly timers?: Timers;
  readonly free?: Files['freeOctets'] | undefined;
}

/**
 * Writes a view of its own into the directory, which is made, or emptied. Reads and writes of the tree may go on; it must not be closed
 * meanwhile.
 * @param free room on the disk of a path, octets
 * @returns path of the file
 * @throws DiskFullError before anything is written, without room for all of it: a disk that is full until the copy fails would fail other writes
 */
export async function copyAsView(
  tree: Tree,
  directory: string,
  { files = systemFiles, timers = backgroundTimers, free = freeOctets }: CopyOptions = {},
): Promise<string> {
  prepareDirectory(directory, 'empty');
  const path = generationPath(directory, 1);
  if (free(directory) < octetsOfCopy(tree)) throw new DiskFullError(path);
  await tree.backup(path, true);
  createPrivate(path);
  // Parts of other records would stay in a view that adopts the copy and erases them: LMDB leaves behind what its buffers held before.
  const copy = files.open(path, 'r+');
  try {
    const eraser = eraserOf(copy, timers);
    while (!eraser.erase(NOBODY_READS)) await nextTurn();
  } finally {
    copy.close();
  }
  // The disk may take seconds.
  const file = await files.async.open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  writeState(directory, 1, 'clean', files);
  return path;
}
