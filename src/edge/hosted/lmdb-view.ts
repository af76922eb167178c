import { setImmediate as nextTurn } from 'node:timers/promises';
import { perform, snapshotOperations, type ViewOperation, viewOperations } from './apply.ts';
import { closeWritten, openForReading, openForWriting, putStamp, type Tree } from './lmdb-file.ts';
import { emitEntries, treeTarget } from './lmdb-target.ts';
import { createSorter, type Entry, type Sorter } from './sorter.ts';
import type { Stamps } from './stamps.ts';
import type { HostedView, ViewWriter } from './view.ts';
import {
  type Bytes,
  CURSOR_KEY,
  FIRST,
  isBelow,
  namespaceKey,
  recordKey,
  seekBelow,
  tokenKey,
} from './view-keys.ts';
import { decodeCursor, decodeNamespace, decodeRecord, decodeToken, encodeCursor } from './view-values.ts';
import { createWiper, removeFilling } from './wipe.ts';

export interface LmdbReaderOptions {
  readonly path: string;
  /** Of the process whose follower writes the file; without them every `refresh` takes a new snapshot. */
  readonly stamps?: Pick<Stamps, 'commits'>;
}

export interface LmdbReader extends HostedView {
  close(): Promise<void>;
}

/**
 * Opens the view for reading: in any thread of the process that writes it, once the writer is open, or in another process.
 *
 * A read sees everything committed before the event loop's present turn began, and after `refresh` everything committed before that.
 *
 * @throws Error when there is no readable view at the path
 */
export function openLmdbReader({ path, stamps }: LmdbReaderOptions): LmdbReader {
  const tree = openForReading(path);
  let seen = stamps?.commits() ?? 0;
  const get = <T>(key: Bytes | null, decode: (bytes: Buffer) => T): T | null => {
    const bytes = key === null ? undefined : tree.getBinaryFast(key);
    return bytes === undefined ? null : decode(bytes);
  };
  return {
    namespace: (name) => get(namespaceKey(name), decodeNamespace),
    token: (digest) => get(tokenKey(digest), decodeToken),
    record: (key) => get(recordKey(key), decodeRecord),
    anyBelow(suffix) {
      for (const found of tree.getKeys({ start: seekBelow(suffix), limit: 1 })) return isBelow(found, suffix);
      return false;
    },
    refresh() {
      if (stamps !== undefined) {
        const commits = stamps.commits();
        if (commits === seen) return;
        seen = commits;
      }
      tree.resetReadTxn();
    },
    close: () => tree.close(),
  };
}

export interface LmdbWriterOptions {
  readonly path: string;
  /** Bumped whole when the view is emptied or made anew. Single changes are announced by whoever follows the follower. */
  readonly stamps?: Pick<Stamps, 'bumpAll'>;
  /** Milliseconds without a change, after an erasure, until the pages that held the data are overwritten; 0 never does. */
  readonly wipeAfterMs?: number;
  /** Memory for the sorting of a rebuild, bytes. */
  readonly sortBytes?: number;
}

export interface LmdbViewWriter extends ViewWriter {
  /** Overwrites what was erased in the free pages of the file now, as far as `wipe.ts` can. */
  readonly wipe: () => void;
}

/** Records that one transaction of a rebuild writes: a few milliseconds of the event loop. */
const AT_ONCE = 2000;

/**
 * Opens the view for writing: one writer a file, before any reader of the same process. A file that cannot be trusted is made anew, empty,
 * with a cursor of null.
 *
 * A rebuild (`clear`, `load`, then `apply`) sorts what it is given and writes it in the order of the keys, so that pages are full;
 * readers find nothing until `apply`, whose last transaction adds namespaces, tokens, changes and cursor together.
 */
export function openLmdbWriter(options: LmdbWriterOptions): LmdbViewWriter {
  const { path, stamps, wipeAfterMs = 1000, sortBytes } = options;
  const tree = openForWriting(path);
  const state: WriterState = { staged: null, unusable: false };
  const wiper = createWiper(tree, wipeAfterMs);
  const target = treeTarget(tree, wiper.erased);

  return {
    wipe: wiper.now,
    cursor() {
      const bytes = tree.getBinaryFast(CURSOR_KEY);
      return bytes === undefined ? null : decodeCursor(bytes);
    },
    async apply(changes, next) {
      if (state.unusable) throw new Error('a rebuild was cut short: the view must be cleared');
      const operations = viewOperations(changes);
      const staged = stagedEntries(state);
      const rebuilt = staged.entry !== null;
      if (rebuilt) {
        state.unusable = true;
        removeFilling(tree);
        await writeRecords(tree, staged);
      }
      tree.transactionSync(() => {
        while (staged.entry !== null) append(tree, staged);
        for (const operation of operations) perform(target, operation);
        tree.putSync(CURSOR_KEY, encodeCursor(next));
      });
      finishStaging(state);
      if (rebuilt) stamps?.bumpAll();
      wiper.later();
    },
    async clear() {
      finishStaging(state);
      tree.transactionSync(() => {
        tree.clearSync();
        putStamp(tree);
      });
      stamps?.bumpAll();
      wiper.erased();
      wiper.later();
    },
    async load(changes) {
      // The pages that the emptying freed are about to be taken anyhow.
      wiper.cancel();
      const operations = snapshotOperations(changes);
      state.staged ??= createSorter(`${path}-rebuild`, sortBytes);
      stage(state.staged, operations);
    },
    async close() {
      wiper.cancel();
      finishStaging(state);
      await closeWritten(tree, path);
    },
  };
}

interface WriterState {
  /** Pages of a rebuild, until `apply`. */
  staged: Sorter | null;
  /** A rebuild failed half way: what the tree holds is no state at all. */
  unusable: boolean;
}

function stage(sorter: Sorter, operations: readonly ViewOperation[]): void {
  for (const operation of operations) emitEntries(operation, (key, value) => sorter.add(key, value));
}

/** What is staged, in the order of the keys, with the present entry to look at. */
interface Staged {
  entry: Entry | null;
  advance(): void;
}

function stagedEntries(state: WriterState): Staged {
  const entries = state.staged?.entries();
  const staged: Staged = {
    entry: null,
    advance: () => {
      staged.entry = entries?.next().value ?? null;
    },
  };
  staged.advance();
  return staged;
}

/** Writes the records at the head of what is staged; for want of namespaces no reader finds a way to them. */
async function writeRecords(tree: Tree, staged: Staged): Promise<void> {
  const isRecord = (): boolean => staged.entry !== null && staged.entry.key[0]! < FIRST.version;
  while (isRecord()) {
    tree.transactionSync(() => {
      for (let n = 0; n < AT_ONCE && isRecord(); n++) append(tree, staged);
    });
    await nextTurn();
  }
}

function append(tree: Tree, staged: Staged): void {
  const { key, value } = staged.entry!;
  if (!tree.putSync(key, value, { append: true })) throw new Error('a rebuild met a view that is not empty');
  staged.advance();
}

function finishStaging(state: WriterState): void {
  state.staged?.close();
  state.staged = null;
  state.unusable = false;
}
