import type { Tree } from '../lmdb/tree.ts';

export interface Sweeper {
  /** Deletes in the background, until nothing is left. It begins `afterMs` after the last call. */
  readonly later: () => void;
  readonly cancel: () => void;
}

export interface SweeperOptions {
  /** Deletes at most `most` entries inside a transaction. @returns whether there may be more */
  readonly sweep: (tree: Tree, most: number) => boolean;
  /** Milliseconds. */
  readonly afterMs?: number;
}

/** Items of one transaction: a few milliseconds, for which a change waits. */
const AT_ONCE = 500;
/** Milliseconds between two transactions: a change that waits comes first. */
const PAUSE_MS = 5;
/** After a failure: the disk may be full. */
const RETRY_MS = 1000;

/** A process that ends in between leaves what is to be deleted, so the next one goes on. */
export function createSweeper(tree: Tree, { sweep, afterMs = PAUSE_MS }: SweeperOptions): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(pass, ms).unref();
  };
  function pass(): void {
    let isLeft = false;
    try {
      tree.transactionSync(() => {
        isLeft = sweep(tree, AT_ONCE);
      });
    } catch {
      wait(RETRY_MS);
      return;
    }
    if (isLeft) wait(PAUSE_MS);
  }
  return { later: () => wait(afterMs), cancel: () => clearTimeout(timer) };
}
