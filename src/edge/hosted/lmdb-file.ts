import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { open } from 'lmdb';
import { type Bytes, STAMP_KEY } from './view-keys.ts';

/** Says how keys and values are laid out. A file with another stamp is thrown away and made anew from the source. */
const STAMP = 'uqrp-view 1';

/** 24 records of 300 bytes fill one; a full-sized record still fits without an overflow page. Three levels hold a million. */
const PAGE_SIZE = 8192;

/** Address space, not memory: set once and never grown, so that no thread has to map anew. */
const MAP_SIZE = 64 * 2 ** 30;

/** Worker threads and other processes that may read at once; one slot each, two while the event loop turns. */
const MAX_READERS = 512;

/** What we use of lmdb-js, typed as it behaves on one unnamed database of binary keys and values. */
export interface Tree {
  /** A buffer that the next read overwrites. */
  getBinaryFast(key: Bytes): Buffer | undefined;
  getKeys(options: { start: Bytes; end?: Bytes; limit: number }): Iterable<Uint8Array>;
  /** @returns false when `append` met a key that is not the greatest */
  putSync(key: Bytes, value: Uint8Array, options?: { append: boolean }): boolean;
  removeSync(key: Bytes): boolean;
  /** `work` must return nothing: a promise, as `put` gives one, would put the commit off to a later microtask. */
  transactionSync(work: () => undefined): void;
  clearSync(): void;
  resetReadTxn(): void;
  /** Frees the slots of readers whose process is gone. */
  readerCheck(): number;
  sync(done: (error?: unknown) => void): void;
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

/** Pages of the file that hold nothing at present. */
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
    // The view can be made again, so no commit waits for the disk; `marker` below tells a torn file from a whole one.
    ...(readOnly ? { readOnly } : { noSync: true }),
  });
  return tree as unknown as Tree;
}

/**
 * Opens the file for writing, making it anew when it is absent, damaged, of another layout, or was written to when the
 * machine (not only the process) went down.
 */
export function openForWriting(path: string): Tree {
  mkdirSync(dirname(path), { recursive: true });
  const boot = bootId();
  if (!isTrusted(path, boot) || !isWhole(path)) remove(path);
  writeMarker(path, boot === null ? 'open' : `open ${boot}`);
  let tree = openTree(path, false);
  if (!hasStamp(tree) && tree.getStats().entryCount > 0) {
    // Closing is immediate here: nothing is under way. The inode must be gone before the path is used again.
    void tree.close();
    remove(path);
    tree = openTree(path, false);
  }
  tree.transactionSync(() => {
    putStamp(tree);
  });
  return tree;
}

/**
 * @throws Error when there is no file yet, or it is damaged or of another layout
 */
export function openForReading(path: string): Tree {
  if (!isWhole(path)) throw new Error('the hosted view is not there or cannot be read');
  const tree = openTree(path, true);
  if (hasStamp(tree)) return tree;
  void tree.close();
  throw new Error('the hosted view has another layout');
}

/** Part of the transaction that empties the tree, so that no crash leaves a file without its stamp. */
export function putStamp(tree: Tree): void {
  tree.putSync(STAMP_KEY, Buffer.from(STAMP));
}

function hasStamp(tree: Tree): boolean {
  const stamp = tree.getBinaryFast(STAMP_KEY);
  return stamp !== undefined && stamp.toString('latin1', 0, stamp.length) === STAMP;
}

/** Flushes to disk, then says that the file can be trusted whatever happens to the machine. */
export async function closeWritten(tree: Tree, path: string): Promise<void> {
  const synced = await new Promise<boolean>((resolve) => {
    tree.sync((error) => resolve(error === undefined || error === null));
  });
  await tree.close();
  if (synced) writeMarker(path, 'clean');
}

function remove(path: string): void {
  for (const file of [path, `${path}-lock`]) rmSync(file, { force: true });
}

/*
 * The marker. Without syncs, a killed process loses nothing (the pages are the kernel's), but a machine that goes down may
 * leave pages of several transactions on disk. So a file is trusted when it was closed in order, or when the
 * machine has not been restarted since it was opened.
 */

function isTrusted(path: string, boot: string | null): boolean {
  try {
    const marker = readFileSync(`${path}-state`, 'latin1');
    return marker === 'clean' || (boot !== null && marker === `open ${boot}`);
  } catch {
    return false;
  }
}

function writeMarker(path: string, text: string): void {
  writeFileSync(`${path}-state`, text, { flush: true });
}

/** Changes with every start of the machine. Null where the system does not tell (anything but Linux). */
function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return null;
  }
}

/*
 * The head of the file, read before LMDB maps it: it trusts what it maps, and a foreign or short file would end the process.
 */

const META_AT = 24;
const META_MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const META_BYTES = 176;

/** Whether both meta pages are LMDB's and of our page size, and the file has all the pages they speak of. */
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
