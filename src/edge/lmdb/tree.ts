import { closeSync, fstatSync, openSync, readSync, rmSync } from 'node:fs';
import { open } from 'lmdb';
import { type Bytes, LAYOUT_KEY } from './key-space.ts';
import { createPrivate } from './view-directory.ts';

/** Layout of keys and values. A file of another version is discarded and built again from the source. */
export const LAYOUT_VERSION = 'uqrp-view 2';

/** 24 records of 300 bytes fill a page; the largest record needs no overflow page. Three levels hold a million. */
export const PAGE_SIZE = 8192;

/** Bytes of address space, not memory. It never grows, so that no thread has to map the file again. */
const MAP_SIZE = 64 * 2 ** 30;

/** Worker threads and processes that may read at once, with one reader slot each, or two within one event loop tick. */
const MAX_READERS = 512;

/** The used part of lmdb-js, typed for one unnamed database of binary keys and values. */
export interface Tree {
  /** A buffer that the next read overwrites. */
  getBinaryFast(key: Bytes): Buffer | undefined;
  getKeys(options: { start: Bytes; end?: Bytes; limit: number }): Iterable<Uint8Array>;
  /** @returns false when `append` met a key that is not the greatest */
  putSync(key: Bytes, value: Uint8Array, options?: { append: boolean }): boolean;
  removeSync(key: Bytes): boolean;
  /** `work` must return nothing: a promise, as `put` returns one, would delay the commit to a later microtask. */
  transactionSync(work: () => undefined): void;
  resetReadTxn(): void;
  /** Frees the slots of readers whose process has ended. */
  readerCheck(): number;
  sync(done: (error?: unknown) => void): void;
  /** @param isCompact without free pages */
  backup(path: string, isCompact: boolean): Promise<void>;
  getStats(): TreeStats;
  close(): Promise<void>;
}

interface PageCounts {
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface TreeStats {
  readonly entryCount: number;
  readonly lastPageNumber: number;
  readonly root: PageCounts;
  readonly free: PageCounts;
}

export function freePages(tree: Tree): number {
  const { lastPageNumber, root, free } = tree.getStats();
  const used = [root, free].reduce(
    (sum, pages) => sum + pages.treeBranchPageCount + pages.treeLeafPageCount + pages.overflowPages,
    2,
  );
  return lastPageNumber + 1 - used;
}

function openTree(path: string, readOnly: boolean): Tree {
  const tree = open({
    path,
    noSubdir: true,
    keyEncoding: 'binary',
    encoding: 'binary',
    mapSize: MAP_SIZE,
    pageSize: PAGE_SIZE,
    maxReaders: MAX_READERS,
    // No commit waits for the disk, since the view can be built again; `writeState` detects a torn file.
    ...(readOnly ? { readOnly } : { noSync: true }),
  });
  return tree as unknown as Tree;
}

/** `damaged`: or truncated. `layout`: written by a release with another layout. */
export type UnusableReason = 'damaged' | 'layout';

/** Opens an existing file for writing. @returns the reason when it is unusable; the caller removes it */
export function openExisting(path: string): Tree | UnusableReason {
  if (!isWhole(path)) return 'damaged';
  createPrivate(path);
  const tree = openTree(path, false);
  if (hasLayoutVersion(tree)) return tree;
  // Closes at once: nothing is under way.
  void tree.close();
  return 'layout';
}

/** Makes an empty file in place of any at the path. */
export function createNew(path: string): Tree {
  for (const file of [path, `${path}-lock`]) rmSync(file, { force: true });
  createPrivate(path);
  const tree = openTree(path, false);
  tree.transactionSync(() => {
    putLayoutVersion(tree);
  });
  return tree;
}

/** @throws Error for a file that is missing, damaged or of another layout */
export function openForReading(path: string): Tree {
  if (!isWhole(path)) throw new Error('the hosted view is not there or cannot be read');
  const tree = openTree(path, true);
  if (hasLayoutVersion(tree)) return tree;
  void tree.close();
  throw new Error('the hosted view has another layout');
}

/** Part of the first transaction of a file, so that no crash leaves a file without it. */
export function putLayoutVersion(tree: Tree): void {
  tree.putSync(LAYOUT_KEY, Buffer.from(LAYOUT_VERSION));
}

function hasLayoutVersion(tree: Tree): boolean {
  const version = tree.getBinaryFast(LAYOUT_KEY);
  return version !== undefined && version.toString('latin1', 0, version.length) === LAYOUT_VERSION;
}

/** @returns false when the disk refused */
export async function syncToDisk(tree: Tree): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    tree.sync((error) => resolve(error === undefined || error === null));
  });
}

/** The head of the file is checked before LMDB maps it: a foreign or short file would end the process. */

const META_AT = 24;
const META_MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const META_BYTES = 176;

/** Whether both meta pages are LMDB's with this page size, and the file has all the pages that they name. */
function isWhole(path: string): boolean {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  try {
    const { size } = fstatSync(file);
    return [0, PAGE_SIZE].every((at) => {
      const meta = Buffer.alloc(META_BYTES);
      if (readSync(file, meta, 0, META_BYTES, at) !== META_BYTES) return false;
      return (
        meta.readUInt32LE(META_AT) === META_MAGIC &&
        meta.readUInt16LE(META_AT + 4) === DATA_VERSION &&
        meta.readUInt32LE(META_AT + 24) === PAGE_SIZE &&
        (Number(meta.readBigUInt64LE(META_AT + 120)) + 1) * PAGE_SIZE <= size
      );
    });
  } finally {
    closeSync(file);
  }
}
