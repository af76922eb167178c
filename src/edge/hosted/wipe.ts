import { freePages, type Tree } from './lmdb-file.ts';
import { type Bytes, FIRST } from './view-keys.ts';

/** Two such values fill a page, so every page taken is overwritten from end to end. */
const FILLING = Buffer.alloc(3900);

/**
 * Free pages that are not filled: about those that the last two transactions freed, which cannot be reused yet. Filling as
 * many as there are would make the file grow with every wipe.
 */
const LEFT_OUT = 10;

/** Transactions that change nothing: each copies a path of the tree, three pages and more, over the oldest free pages. */
const TOUCHES = 12;

/** Pages a transaction fills: a few milliseconds of the event loop. */
const PAGES_AT_ONCE = 1000;

function fillingKey(index: number): Bytes {
  const key = new Uint8Array(5);
  new DataView(key.buffer).setUint32(1, index);
  key[0] = FIRST.filling;
  return key;
}

/**
 * Overwrites the pages that LMDB keeps for reuse. A page is copied before it changes, so what was erased stays readable in
 * the old copy on disk, though never served, until the page is taken again; this takes all of them, writes zeros and
 * gives them back.
 *
 * @param touch commits a transaction that changes nothing, but copies a page
 * @param pause awaited between transactions
 */
export async function wipeFreePages(
  tree: Tree,
  touch: () => void,
  pause: () => Promise<void>,
): Promise<void> {
  // What a reader that was killed still seems to read would count as free and yet not be taken.
  tree.readerCheck();
  for (let i = 0; i < TOUCHES; i++) touch();
  const values = 2 * Math.max(0, freePages(tree) - LEFT_OUT);
  try {
    for (let from = 0; from < values; from += 2 * PAGES_AT_ONCE) {
      tree.transactionSync(() => {
        const to = Math.min(values, from + 2 * PAGES_AT_ONCE);
        for (let i = from; i < to; i++) tree.putSync(fillingKey(i), FILLING, { append: true });
      });
      await pause();
    }
  } finally {
    await removeFilling(tree, pause);
  }
  for (let i = 0; i < TOUCHES; i++) touch();
}

/** Gives the pages back; also what a wipe left behind that a crash cut short. */
export async function removeFilling(tree: Tree, pause: () => Promise<void>): Promise<void> {
  for (;;) {
    const keys = [...tree.getKeys({ start: Uint8Array.of(FIRST.filling), limit: 2 * PAGES_AT_ONCE })];
    if (keys.length === 0) return;
    tree.transactionSync(() => {
      for (const key of keys) tree.removeSync(key as Bytes);
    });
    await pause();
  }
}
