import { endianness } from 'node:os';
import { dirname } from 'node:path';
import { open } from 'lmdb';
import {
  DiskFullError,
  type Files,
  freeOctets,
  isMissing,
  type OpenFile,
  systemFiles,
} from '../../base/files.ts';
import { createPrivate } from './view-directory.ts';

/** Layout of keys and values. A file of another version is discarded and built again from the source. */
const LAYOUT_VERSION = 'uqrp-view 3';

/** 24 records of 300 bytes fill a page; the largest record needs no overflow page. Three levels hold a million. */
export const PAGE_SIZE = 8192;

/**
 * Bytes of address space, not memory. It never grows, so that no thread has to map the file again. x64 gives a process 128 TiB; some kernels for
 * other machines give 512 GiB, in which a view and the next one must fit.
 */
const MAP_SIZE = process.arch === 'x64' ? 2 ** 40 : 128 * 2 ** 30;

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
  /** While no other process can write. `work` writes nothing to the tree. */
  whileLocked(work: () => undefined): void;
  resetReadTxn(): void;
  /** Frees the slots of readers whose process has ended. */
  readerCheck(): number;
  /** Text with a line for each slot of a reader; its third column is the transaction that is read, or `-`. */
  readerList(): string;
  sync(done: (error?: unknown) => void): void;
  /** @param isCompact without free pages */
  backup(path: string, isCompact: boolean): Promise<void>;
  getStats(): TreeStats;
  close(): Promise<void>;
}

interface TreeStats {
  readonly lastPageNumber: number;
  readonly root: {
    readonly treeDepth: number;
    readonly treeBranchPageCount: number;
    readonly treeLeafPageCount: number;
    readonly overflowPages: number;
  };
}

export interface WriteOptions {
  /** Room on the disk of a path, octets; `freeOctets` when not given. */
  readonly free?: ((path: string) => number) | undefined;
  /** Called before each transaction, which does not begin when it throws. */
  readonly beforeWrite?: () => void;
}

/** Pages that any commit may add: both meta pages, the list of free pages, and splits up to the root. */
const PAGES_AT_LEAST = 16;
/** Deeper than the tree of any view: with more room than this for each put nothing else is looked at. */
const DEEPEST = 8;

/**
 * A tree whose transactions end before their commit when the disk has no room for it. LMDB's own answer to a full disk is a line on
 * stderr from C, between the lines of the log, and an error of no certain kind. All writes of a process are in one thread, so that only
 * another process can take the room in between.
 */
function withRoom(tree: Tree, path: string, { free = freeOctets, beforeWrite }: WriteOptions): Tree {
  let puts = 0;
  let octets = 0;
  /** Octets that the file has for certain. */
  let filled = 0;

  /** @throws DiskFullError when the commit may write more beyond the end of the file than the disk has room for */
  function checkRoom(): void {
    // NaN where the directory is gone: the follower notices that, and builds the view again.
    const room = free(dirname(path));
    const added = PAGES_AT_LEAST + Math.ceil((2 * octets) / PAGE_SIZE);
    if (!(room < (added + puts * DEEPEST) * PAGE_SIZE)) return;
    const { root, lastPageNumber } = tree.getStats();
    // Each put copies its way from the root, together at most the whole tree. Free pages of the file do not count: readers may hold them.
    const inTree = root.treeBranchPageCount + root.treeLeafPageCount;
    const copied = Math.min(puts * (root.treeDepth + 1), inTree);
    const found = systemFiles.facts(path);
    if (found === null) return;
    const { octets: size, held } = found;
    // Pages that were freed before they were written are holes of the file.
    const holes = Math.max(0, size - held);
    const ahead = Math.max(0, size - (lastPageNumber + 1) * PAGE_SIZE);
    if (room + ahead - holes < (added + copied) * PAGE_SIZE) throw new DiskFullError(path);
  }

  /**
   * Makes the file as long as LMDB says it is. Pages at its end that a transaction took and freed were never written, and without them the
   * file looks as one that was cut off (`isWhole`).
   */
  function fillEnd(): void {
    const end = (tree.getStats().lastPageNumber + 1) * PAGE_SIZE;
    if (end <= filled) return;
    try {
      if ((systemFiles.facts(path)?.octets ?? end) < end) writeLast(path, end - 1);
      filled = end;
    } catch {
      // The transaction is committed. On a full disk the next one tries again.
    }
  }

  return {
    getBinaryFast: (key) => tree.getBinaryFast(key),
    getKeys: (options) => tree.getKeys(options),
    putSync(key, value, options) {
      puts++;
      octets += key.length + value.length;
      return tree.putSync(key, value, options);
    },
    removeSync(key) {
      puts++;
      return tree.removeSync(key);
    },
    transactionSync(work) {
      puts = 0;
      octets = 0;
      beforeWrite?.();
      tree.transactionSync(() => {
        work();
        checkRoom();
      });
      fillEnd();
    },
    whileLocked(work) {
      beforeWrite?.();
      tree.transactionSync(work);
    },
    resetReadTxn: () => tree.resetReadTxn(),
    readerCheck: () => tree.readerCheck(),
    readerList: () => tree.readerList(),
    sync: (done) => tree.sync(done),
    backup: (to, isCompact) => tree.backup(to, isCompact),
    getStats: () => tree.getStats(),
    close: () => tree.close(),
  };
}

/** Octets of a copy without free pages, at most. */
export function octetsOfCopy(tree: Tree): number {
  const { treeBranchPageCount, treeLeafPageCount, overflowPages } = tree.getStats().root;
  return (PAGES_AT_LEAST + treeBranchPageCount + treeLeafPageCount + overflowPages) * PAGE_SIZE;
}

function writeLast(path: string, at: number): void {
  const file = systemFiles.open(path, 'r+');
  try {
    file.write(new Uint8Array(1), at);
  } finally {
    file.close();
  }
}

function openTree(path: string, readOnly: boolean, options: WriteOptions = {}): Tree {
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
  return readOnly ? (tree as unknown as Tree) : withRoom(tree as unknown as Tree, path, options);
}

/** `damaged`: or truncated. `layout`: written by a release with another layout. */
export type UnusableReason = 'damaged' | 'layout';

/** Opens an existing file for writing. @returns the reason when it is unusable; the caller removes it */
export function openExisting(path: string, options?: WriteOptions): Tree | UnusableReason {
  if (!isWhole(path)) return 'damaged';
  createPrivate(path);
  const tree = openTree(path, false, options);
  if (hasLayoutVersion(tree)) return tree;
  // Closes at once: nothing is under way.
  void tree.close();
  return 'layout';
}

/** Makes an empty file in place of any at the path. @throws DiskFullError without room for it */
export function createNew(path: string, options: WriteOptions = {}): Tree {
  for (const file of [path, `${path}-lock`]) systemFiles.remove(file);
  if ((options.free ?? freeOctets)(dirname(path)) < PAGES_AT_LEAST * PAGE_SIZE) throw new DiskFullError(path);
  createPrivate(path);
  const tree = openTree(path, false, options);
  tree.transactionSync(() => {
    putLayoutVersion(tree);
  });
  return tree;
}

/** Its code goes to the log when a DNS worker cannot start. */
class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
  readonly code: string;

  constructor(code: 'VIEW_UNREADABLE' | 'VIEW_LAYOUT', message: string) {
    super(message);
    this.code = code;
  }
}

/** @throws UnreadableError for a file that is missing, damaged or of another layout */
export function openForReading(path: string, files: Files = systemFiles): Tree {
  if (!isWhole(path, files))
    throw new UnreadableError('VIEW_UNREADABLE', 'the hosted view is not there or cannot be read');
  const tree = openTree(path, true);
  if (hasLayoutVersion(tree)) return tree;
  void tree.close();
  throw new UnreadableError('VIEW_LAYOUT', 'the hosted view has another layout');
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
function isWhole(path: string, files: Files = systemFiles): boolean {
  let file: OpenFile;
  try {
    file = files.open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  try {
    const lastPages = [0, PAGE_SIZE].map((at) => {
      const meta = Buffer.alloc(META_BYTES);
      if (file.read(meta, at) !== META_BYTES) return null;
      const isOurs =
        meta.readUInt32LE(META_AT) === META_MAGIC &&
        meta.readUInt16LE(META_AT + 4) === DATA_VERSION &&
        meta.readUInt32LE(META_AT + 24) === PAGE_SIZE;
      return isOurs ? Number(meta.readBigUInt64LE(META_AT + 120)) : null;
    });
    // After the meta pages: a commit in between adds pages before it names them.
    const size = file.size();
    return lastPages.every((page) => page !== null && (page + 1) * PAGE_SIZE <= size);
  } finally {
    file.close();
  }
}

/**
 * First bytes of all keys of the view. Keys of records have none: they begin with a letter or digit of a label. Each
 * table names its own, in one list, so that no two tables share one.
 */
export const FIRST = {
  meta: 0x01,
  /** `{` version, zero, namespace: the namespaces that have records of a version. */
  version: 0x7b,
  /** `|` namespace. */
  namespace: 0x7c,
  /** `}` and the 32 bytes of a digest. */
  token: 0x7d,
  /** `~` namespace, zero, digest: the tokens of a namespace. */
  tokenOf: 0x7e,
  /** DEL namespace: how long caches may keep its open answers. A view of an earlier release has none. */
  maxTtl: 0x7f,
  /** Key id: an attestation key. */
  datasetKey: 0x80,
  /** Key id, version id: the served manifests that a key attests. */
  datasetKeyUse: 0x81,
  /** Version id: which version of which dataset it is. */
  datasetVersion: 0x82,
  /** Slug, zero, version: its id and manifest. */
  datasetManifest: 0x83,
  /** Slug: id of its latest version. */
  datasetLatest: 0x84,
  /** Version id, item: its windows. */
  datasetItem: 0x85,
  /** Version id: a version that was withdrawn, whose items are still to be deleted. */
  datasetWithdrawn: 0x86,
  /** Digest: the period of time in which a record expired. */
  expired: 0x87,
  /** Period, digest: the same in order of time. */
  expiredIn: 0x88,
  /** Version id: the proof that the transparency log has it. */
  datasetProof: 0x89,
  /** Alone: the newest checkpoint of the transparency log. */
  datasetCheckpoint: 0x8a,
  /** Version id: a version that was withdrawn, for good. A view of an earlier release has none. */
  datasetRetired: 0x8b,
  /** Filling of freed pages, by releases before 0.2: see `wipe.ts`. */
  filling: 0xff,
} as const;

export type Bytes = Uint8Array<ArrayBuffer>;

export interface KeyRange {
  readonly start: Bytes;
  readonly end: Bytes;
}

const LAYOUT_KEY: Bytes = Uint8Array.of(FIRST.meta, 0x66);
export const CURSOR_KEY: Bytes = Uint8Array.of(FIRST.meta, 0x63);
export const EPOCH_KEY: Bytes = Uint8Array.of(FIRST.meta, 0x65);

export function encodeCursor(cursor: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(cursor, 0);
  return bytes;
}

export function decodeCursor(bytes: Buffer): number {
  return bytes.readDoubleBE(0);
}

/** What two processes must have in common to read the same file. Architectures of Node with integers of 32 bits are these. */
const NARROW: readonly string[] = ['arm', 'ia32', 'mips', 'mipsel', 'ppc', 's390'];

export const FILE_FORMAT = {
  layout: LAYOUT_VERSION.replace(' ', '-'),
  pageSize: PAGE_SIZE,
  machine: `${endianness().toLowerCase()}${NARROW.includes(process.arch) ? 32 : 64}`,
} as const;

/**
 * Searches for the first key at or after another. All searches of a tree share one range of lmdb-js, which reads its options when it
 * is iterated. A range for each would take twice as long, and its objects outlive many collections of young ones: under a flood of
 * denials full collections took 15 % of the CPU.
 */
export function firstKeySearch(): (tree: Tree, start: Bytes) => Uint8Array | null {
  const options: { start: Bytes; limit: number } = { start: new Uint8Array(), limit: 1 };
  let searched: Tree | null = null;
  let keys: Iterable<Uint8Array> = [];
  return (tree, start) => {
    if (tree !== searched) {
      searched = tree;
      keys = tree.getKeys(options);
    }
    options.start = start;
    for (const key of keys) return key;
    return null;
  };
}
