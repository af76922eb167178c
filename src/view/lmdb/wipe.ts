import { type Bytes, FIRST } from './key-space.ts';
import { freePages, putLayoutVersion, type Tree } from './tree.ts';

/** Two such values fill a page, so every page is overwritten from end to end. */
const FILLING = Buffer.alloc(3900);

/**
 * Free pages that are not filled: about those of the last two transactions, which cannot be reused yet. Without this
 * margin the file would grow with every wipe.
 */
const LEFT_OUT = 10;

/** Most pages of one wipe: some ten milliseconds of the event loop. */
const MOST_PAGES = 1000;

/** Transactions without an effect: each copies a path of the tree, at least three pages, over free pages. */
const TOUCHES = 12;

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
export function createWiper(tree: Tree, afterMs: number): Wiper {
  // The last process may have left erased data.
  let due = true;
  let timer: NodeJS.Timeout | undefined;
  const wiper: Wiper = {
    erased() {
      due = true;
    },
    later() {
      clearTimeout(timer);
      if (due && afterMs > 0) timer = setTimeout(wiper.now, afterMs).unref();
    },
    now() {
      if (!due) return;
      due = false;
      try {
        wipeFreePages(tree);
      } catch {
        // The disk is full or gone: the next change reports it, and the next erasure retries.
        due = true;
      }
    },
    cancel: () => clearTimeout(timer),
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
 */
function wipeFreePages(tree: Tree): void {
  // Pages held for a killed reader count as free, but cannot be taken.
  tree.readerCheck();
  touch(tree);
  const pages = Math.min(MOST_PAGES, freePages(tree) - LEFT_OUT);
  if (pages > 0) {
    tree.transactionSync(() => {
      for (let i = 0; i < 2 * pages; i++) tree.putSync(fillingKey(i), FILLING, { append: true });
    });
    removeFilling(tree);
  }
  touch(tree);
}

function touch(tree: Tree): void {
  for (let i = 0; i < TOUCHES; i++) {
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
