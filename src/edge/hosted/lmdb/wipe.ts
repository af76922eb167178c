import { freePages, putLayoutVersion, type Tree } from './tree.ts';
import { type Bytes, FIRST } from './view-keys.ts';

/** Two such values fill a page, so every page taken is overwritten from end to end. */
const FILLING = Buffer.alloc(3900);

/**
 * Free pages that are not filled: about those that the last two transactions freed, which cannot be reused yet. Filling as
 * many as there are would make the file grow with every wipe.
 */
const LEFT_OUT = 10;

/** Most pages of one wipe: some ten milliseconds of the event loop. */
const MOST_PAGES = 1000;

/** Transactions that change nothing: each copies a path of the tree, three pages and more, over free pages. */
const TOUCHES = 12;

export interface Wiper {
  /** Notes that something was erased. */
  readonly erased: () => void;
  /** Wipes after a while without a further call, when something was erased. */
  readonly later: () => void;
  /** Wipes now, when something was erased. */
  readonly now: () => void;
  /** Not yet: forgets the last `later`. */
  readonly cancel: () => void;
}

/** @param afterMs 0: `later` never wipes */
export function createWiper(tree: Tree, afterMs: number): Wiper {
  // At the start nobody knows what the last process left.
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
        // The disk is full or gone: the next change will say so, and the next erasure tries again.
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
 * Overwrites pages that LMDB keeps for reuse. A page is copied before it changes, so what was erased stays in the old copy on
 * disk, though never served, until the page is taken again; this takes such pages, writes zeros and gives them back.
 *
 * A best effort, not a proof: after a large erasure some pages are left for later transactions, and a page in use may
 * keep, in its unused part, the bytes of a record that once moved out of it. Only a rebuild leaves nothing.
 */
function wipeFreePages(tree: Tree): void {
  // What a reader that was killed still seems to read would count as free and yet not be taken.
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

/** Gives the pages back; also what a wipe left behind that a crash cut short. */
export function removeFilling(tree: Tree): void {
  const keys = [...tree.getKeys({ start: Uint8Array.of(FIRST.filling), limit: 2 * MOST_PAGES })];
  if (keys.length === 0) return;
  tree.transactionSync(() => {
    for (const key of keys) tree.removeSync(key as Bytes);
  });
}
