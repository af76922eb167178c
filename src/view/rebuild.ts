import { systemFiles } from '../base/files.ts';
import { nextTurn } from '../base/lifecycle/timers.ts';
import { createSorter, type Entry } from '../base/sorter.ts';
import { UnfitFileError, type ViewRebuild } from '../feed/ports/view-writer.ts';
import type { AppliedChange } from '../protocol/change.ts';
import { afterPages, applyChange, snapshotTarget, type ViewTarget } from './apply.ts';
import { datasetEntriesTo, datasetTarget, indexLatest } from './datasets/dataset-table.ts';
import { hostedEntriesTo, hostedTarget } from './hosted/record-table.ts';
import {
  CURSOR_KEY,
  createNew,
  decodeCursor,
  EPOCH_KEY,
  encodeCursor,
  FIRST,
  openExisting,
  putLayoutVersion,
  type Tree,
  type WriteOptions,
} from './lmdb/tree.ts';
import { removeFilling } from './lmdb/wipe.ts';

interface LmdbRebuildOptions {
  /** Path of the new file. */
  readonly path: string;
  /** Path of the temporary file for sorting. */
  readonly sortPath: string;
  /** Memory for sorting, bytes. */
  readonly sortBytes: number | undefined;
  readonly free: WriteOptions['free'];
  readonly syncToDisk: (tree: Tree) => Promise<boolean>;
  /** Takes over the finished tree, which is on disk. */
  readonly serve: (tree: Tree) => void;
  /** Called once, after `finish` or `discard`. */
  readonly ended: () => void;
}

/** Records of one transaction: a few milliseconds of the event loop. */
const AT_ONCE = 2000;

/** Transactions without an effect: each copies a path of the tree, at least three pages. */
const COMMITS = 12;

/**
 * After adopting a copy: it has no free pages, and the number of its last transaction. A large first transaction of such a file may take pages that it
 * freed itself, which ends the process or damages the file. Small ones before it leave free pages of their own, which LMDB finds.
 */
function commitNothing(tree: Tree): void {
  for (let i = 0; i < COMMITS; i++) {
    tree.transactionSync(() => {
      putLayoutVersion(tree);
    });
  }
}

/**
 * Builds a view in a new file: from pages, with records written in key order so that pages are full, or from a file that is a
 * view already. No reader sees it before it is complete and on disk.
 */
export function startLmdbRebuild(options: LmdbRebuildOptions): ViewRebuild {
  const { path, sortPath, sortBytes, free, syncToDisk, serve, ended } = options;
  const sorter = createSorter(sortPath, sortBytes);
  const add = (key: Uint8Array, value: Uint8Array): void => sorter.add(key, value);
  const sorting = snapshotTarget({ ...hostedEntriesTo(add), ...datasetEntriesTo(add) });
  /** Null before all pages are in it, or a file is adopted. */
  let tree: Tree | null = null;
  let isFromPages = false;
  let isOver = false;

  function end(): void {
    if (isOver) return;
    isOver = true;
    sorter.close();
    ended();
  }

  async function built(): Promise<Tree> {
    isFromPages = true;
    const made = createNew(path, { free });
    try {
      await writeSorted(made, sorter.entries());
      made.transactionSync(() => {
        indexLatest(made);
      });
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  function write(to: Tree, changes: readonly AppliedChange[], cursor: number, epoch: string | null): void {
    const all = treeTarget(to, () => {});
    const target = isFromPages ? afterPages(all) : all;
    to.transactionSync(() => {
      for (const change of changes) applyChange(target, change);
      if (epoch !== null) to.putSync(EPOCH_KEY, Buffer.from(epoch));
      to.putSync(CURSOR_KEY, encodeCursor(cursor));
    });
  }

  return {
    async load(changes) {
      for (const change of changes) applyChange(sorting, change);
    },
    async adopt(file, has) {
      for (const old of [path, `${path}-lock`]) systemFiles.remove(old);
      systemFiles.rename(file, path);
      const found = openExisting(path, { free });
      if (typeof found === 'string') throw new UnfitFileError();
      tree = found;
      const { cursor, epoch } = positionOf(found);
      if (cursor !== has.seq || epoch !== has.epoch) throw new UnfitFileError();
      commitNothing(found);
      removeFilling(found);
    },
    async apply(changes, cursor) {
      tree ??= await built();
      write(tree, changes, cursor, null);
    },
    async finish(changes, cursor, epoch) {
      try {
        tree ??= await built();
        write(tree, changes, cursor, epoch);
        if (!(await syncToDisk(tree))) throw new Error('the rebuilt view could not be brought to the disk');
        serve(tree);
        tree = null;
      } finally {
        await tree?.close();
        tree = null;
        end();
      }
    },
    async discard() {
      await tree?.close();
      tree = null;
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

/** Which changes a view has, of which database; null: it is empty. */
export interface ViewPosition {
  readonly cursor: number | null;
  readonly epoch: string | null;
}

export function positionOf(tree: Tree): ViewPosition {
  const cursor = tree.getBinaryFast(CURSOR_KEY);
  // The next read overwrites the buffer.
  const seq = cursor === undefined ? null : decodeCursor(cursor);
  const epoch = tree.getBinaryFast(EPOCH_KEY);
  return { cursor: seq, epoch: epoch?.toString('latin1', 0, epoch.length) ?? null };
}

/** All tables of a tree, for changes inside one write transaction. @param onErase called when hosted data was removed */
export function treeTarget(tree: Tree, onErase: () => void): ViewTarget {
  return { ...hostedTarget(tree, onErase), ...datasetTarget(tree) };
}
