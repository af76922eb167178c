import { deleteWithdrawn } from '../datasets/dataset-table.ts';
import type { Tree } from '../lmdb/tree.ts';

export interface Sweeper {
  /** Deletes the items of withdrawn versions in the background, until none are left. */
  readonly later: () => void;
  readonly cancel: () => void;
}

/** Items of one transaction: a few milliseconds, for which a change waits. */
const AT_ONCE = 500;
/** Milliseconds between two transactions: a change that waits comes first. */
const PAUSE_MS = 5;
/** After a failure: the disk may be full. */
const RETRY_MS = 1000;

/** A process that ends in between leaves the marks of the versions, so the next one goes on. */
export function createSweeper(tree: Tree): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(sweep, ms).unref();
  };
  function sweep(): void {
    let isLeft = false;
    try {
      tree.transactionSync(() => {
        isLeft = deleteWithdrawn(tree, AT_ONCE);
      });
    } catch {
      wait(RETRY_MS);
      return;
    }
    if (isLeft) wait(PAUSE_MS);
  }
  return { later: () => wait(PAUSE_MS), cancel: () => clearTimeout(timer) };
}
