import { type AsyncFile, type Files, systemFiles } from '../../base/files.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { type Bytes, FIRST, freePages, PAGE_SIZE, putLayoutVersion, type Tree } from './tree.ts';
import { createPrivate, generationPath, prepareDirectory, writeState } from './view-directory.ts';

/** Two such values fill a page, so every page is overwritten from end to end. */
const FILLING = Buffer.alloc(3900);

/**
 * Free pages that are not filled at first: about those of the last two transactions, which cannot be reused yet. Without this margin the
 * file would grow with every wipe.
 */
const LEFT_OUT = 10;

/** Most pages of one wipe: some ten milliseconds of the event loop. */
const MOST_PAGES = 1000;

/** Transactions without an effect: each copies a path of the tree, at least three pages, over free pages. */
const COMMITS = 12;

export interface Wiper {
  readonly erased: () => void;
  /** Wipes after a delay that each call restarts, when something was erased. */
  readonly later: () => void;
  /** Wipes now, when something was erased. */
  readonly now: () => void;
  /** Cancels the last `later`. */
  readonly cancel: () => void;
}

/** @param afterMs 0: `later` never wipes */
export function createWiper(tree: Tree, afterMs: number, timers: Timers): Wiper {
  // The last process may have left erased data.
  let due = true;
  const margin: Margin = { pages: LEFT_OUT, isExact: false };
  let cancel = (): void => {};
  const wiper: Wiper = {
    erased() {
      due = true;
    },
    later() {
      cancel();
      if (due && afterMs > 0) cancel = timers.after(afterMs, wiper.now);
    },
    now() {
      if (!due) return;
      due = false;
      try {
        wipeFreePages(tree, margin);
      } catch {
        // The disk is full or gone: the next change reports it, and the next erasure retries.
        due = true;
      }
    },
    cancel: () => cancel(),
  };
  return wiper;
}

function fillingKey(index: number): Bytes {
  const key = new Uint8Array(5);
  new DataView(key.buffer).setUint32(1, index);
  key[0] = FIRST.filling;
  return key;
}

/**
 * Overwrites free pages with zeros. LMDB copies a page before it changes, so the old copy keeps erased data on disk, though no reader sees
 * it. Best effort: a large erasure leaves some pages to later transactions, and the unused part of a page in use may hold a record that
 * moved. Only a rebuild leaves nothing.
 * @param margin pages to leave out. The exact number depends on the depth of the tree: it is found by one page of growth, and kept
 */
function wipeFreePages(tree: Tree, margin: Margin): void {
  // Pages held for a killed reader count as free, but cannot be taken.
  tree.readerCheck();
  commitNothing(tree);
  for (let isMore = true; isMore; ) {
    const { lastPageNumber } = tree.getStats();
    const free = freePages(tree) - margin.pages;
    if (free > 0) fill(tree, Math.min(MOST_PAGES, free));
    commitNothing(tree);
    const hasGrown = tree.getStats().lastPageNumber > lastPageNumber;
    isMore = !margin.isExact && !hasGrown && margin.pages > 0 && free < MOST_PAGES;
    margin.isExact ||= hasGrown;
    if (hasGrown) margin.pages++;
    else if (isMore) margin.pages--;
  }
}

interface Margin {
  pages: number;
  isExact: boolean;
}

function fill(tree: Tree, pages: number): void {
  tree.transactionSync(() => {
    for (let i = 0; i < 2 * pages; i++) tree.putSync(fillingKey(i), FILLING, { append: true });
  });
  removeFilling(tree);
}

/**
 * Some small transactions without an effect. They end the wait of pages that the last transactions freed. After adopting a copy they are needed: it has
 * no free pages, and the number of its last transaction. A large first transaction of such a file may take pages that it freed itself, which ends
 * the process or damages the file. Small ones before it leave free pages of their own, which LMDB finds.
 */
export function commitNothing(tree: Tree): void {
  for (let i = 0; i < COMMITS; i++) {
    tree.transactionSync(() => {
      putLayoutVersion(tree);
    });
  }
}

/** Removes the filling, also that of a wipe which a crash interrupted. */
export function removeFilling(tree: Tree): void {
  const keys = [...tree.getKeys({ start: Uint8Array.of(FIRST.filling), limit: 2 * MOST_PAGES })];
  if (keys.length === 0) return;
  tree.transactionSync(() => {
    for (const key of keys) tree.removeSync(key as Bytes);
  });
}

// A copy of a file without free pages. LMDB leaves in the unused part of each page what its buffer held before: parts of
// other records, which would stay in a view that adopts the copy and erases them. That part is overwritten with zeros.

/** Of a page: number (8), transaction (8), padding (2), flags (2), then two ends of the unused part (2, 2), or pages of a large value (4). */
const HEADER_OCTETS = 24;
const FLAGS_AT = 18;
const LOWER_AT = 20;
const UPPER_AT = 22;
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;

/** Pages that are read at once. */
const PAGES_AT_ONCE = 128;

/**
 * Writes a view of its own into the directory, which is made, or emptied. Reads and writes of the tree may go on; it must not be closed
 * meanwhile.
 * @returns path of the file
 */
export async function copyAsView(tree: Tree, directory: string, files: Files = systemFiles): Promise<string> {
  prepareDirectory(directory, 'empty');
  const path = generationPath(directory, 1);
  await tree.backup(path, true);
  createPrivate(path);
  const file = await files.async.open(path, 'r+');
  try {
    await clearUnused(file);
    await file.sync();
  } finally {
    await file.close();
  }
  writeState(directory, 1, 'clean', files);
  return path;
}

async function clearUnused(file: AsyncFile): Promise<void> {
  const pages = (await file.size()) / PAGE_SIZE;
  const block = Buffer.alloc(PAGES_AT_ONCE * PAGE_SIZE);
  // A large value fills several pages, which begin with no header.
  let next = 0;
  for (let first = 0; first < pages; first += PAGES_AT_ONCE) {
    const count = Math.min(PAGES_AT_ONCE, pages - first);
    const read = block.subarray(0, count * PAGE_SIZE);
    await file.read(read, first * PAGE_SIZE);
    for (next = Math.max(next, first); next < first + count; ) {
      const at = (next - first) * PAGE_SIZE;
      next += clearPage(block.subarray(at, at + PAGE_SIZE));
    }
    await file.write(read, first * PAGE_SIZE);
  }
}

/** @returns pages until the next one with a header */
function clearPage(page: Buffer): number {
  const flags = page.readUInt16LE(FLAGS_AT);
  if ((flags & OVERFLOW) !== 0) return Math.max(1, page.readUInt32LE(LOWER_AT));
  if ((flags & (BRANCH | LEAF)) === 0) return 1;
  const [lower, upper] = [page.readUInt16LE(LOWER_AT), page.readUInt16LE(UPPER_AT)];
  if (lower > upper || HEADER_OCTETS + upper > PAGE_SIZE) throw new Error('the copy of the view is damaged');
  page.fill(0, HEADER_OCTETS + lower, HEADER_OCTETS + upper);
  return 1;
}
