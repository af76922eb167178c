import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ViewRebuild } from '../../../feed/view-writer.ts';
import { applyChange, snapshotTarget } from '../apply.ts';
import { createSorter, type Entry } from './sorter.ts';
import { entriesTo, treeTarget } from './target.ts';
import { createNew, syncToDisk, type Tree } from './tree.ts';
import { CURSOR_KEY, EPOCH_KEY, FIRST } from './view-keys.ts';
import { encodeCursor } from './view-values.ts';

export interface LmdbRebuildOptions {
  /** Path of the new file. */
  readonly path: string;
  /** Path of the temporary file for sorting. */
  readonly sortPath: string;
  /** Memory for sorting, bytes. */
  readonly sortBytes: number | undefined;
  /** Takes over the finished tree, which is on disk. */
  readonly serve: (tree: Tree) => void;
  /** Called once, after `finish` or `discard`. */
  readonly ended: () => void;
}

/** Records of one transaction: a few milliseconds of the event loop. */
const AT_ONCE = 2000;

/**
 * Builds a view in a new file, with records written in key order so that pages are full. `finish` makes the file; no
 * reader sees it before it is complete and on disk.
 */
export function startLmdbRebuild(options: LmdbRebuildOptions): ViewRebuild {
  const { path, sortPath, sortBytes, serve, ended } = options;
  const sorter = createSorter(sortPath, sortBytes);
  const sorting = snapshotTarget(entriesTo((key, value) => sorter.add(key, value)));
  let isOver = false;

  function end(): void {
    if (isOver) return;
    isOver = true;
    sorter.close();
    ended();
  }

  return {
    async load(changes) {
      for (const change of changes) applyChange(sorting, change);
    },
    async finish(changes, cursor, epoch) {
      const tree = createNew(path);
      try {
        await writeSorted(tree, sorter.entries());
        const target = treeTarget(tree, () => {});
        tree.transactionSync(() => {
          for (const change of changes) applyChange(target, change);
          tree.putSync(EPOCH_KEY, Buffer.from(epoch));
          tree.putSync(CURSOR_KEY, encodeCursor(cursor));
        });
        if (!(await syncToDisk(tree))) throw new Error('the rebuilt view could not be brought to the disk');
        serve(tree);
      } catch (error) {
        await tree.close();
        throw error;
      } finally {
        end();
      }
    },
    async discard() {
      end();
    },
  };
}

/** Appends in key order, in transactions of a bounded size. The layout version is there already. */
async function writeSorted(tree: Tree, entries: Generator<Entry, void>): Promise<void> {
  let next = entries.next();
  while (next.done !== true) {
    tree.transactionSync(() => {
      for (let n = 0; n < AT_ONCE && next.done !== true; n++) {
        const { key, value } = next.value;
        // The layout version sorts before all of them, so each key is the greatest so far.
        if (!tree.putSync(key, value, { append: key[0] !== FIRST.meta })) {
          throw new Error('the entries of a rebuild are not in order');
        }
        next = entries.next();
      }
    });
    await nextTurn();
  }
}
