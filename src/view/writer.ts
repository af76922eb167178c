import { join } from 'node:path';
import { DiskFullError, freeOctets, isOutOfSpace, makeFolderSync } from '../base/files.ts';
import { backgroundTimers, type Timers } from '../base/lifecycle/timers.ts';
import type { ViewRebuild, ViewWriter } from '../feed/ports/view-writer.ts';
import { applyChange } from './apply.ts';
import { deleteWithdrawn } from './datasets/dataset-table.ts';
import type { FreshnessCounters } from './freshness.ts';
import { EXPIRED_KEPT_MS, forgetAllExpired } from './hosted/record-table.ts';
import {
  CURSOR_KEY,
  createNew,
  encodeCursor,
  openExisting,
  openForReading,
  PAGE_SIZE,
  syncToDisk,
  type Tree,
  type UnusableReason,
  type WriteOptions,
} from './lmdb/tree.ts';
import {
  generationPath,
  inodeOf,
  prepareDirectory,
  readState,
  removeGeneration,
  removeOthers,
  type ViewState,
  writeState,
} from './lmdb/view-directory.ts';
import { copyAsView, createWiper, removeFilling, type Wiper } from './lmdb/wipe.ts';
import { positionOf, startLmdbRebuild, treeTarget, type ViewPosition } from './rebuild.ts';

interface Sweeper {
  /** Deletes in the background, until nothing is left. It begins `afterMs` after the last call. */
  readonly later: () => void;
  readonly cancel: () => void;
}

interface SweeperOptions {
  /** Deletes at most `most` entries inside a transaction. @returns false: there was none */
  readonly sweep: (tree: Tree, most: number) => boolean;
  /** Milliseconds. */
  readonly afterMs?: number;
  /** After each transaction that deleted something. */
  readonly swept: () => void;
  readonly timers: Timers;
}

/** Items of one transaction: a few milliseconds, for which a change waits. */
const AT_ONCE = 500;
/** Milliseconds between two transactions: a change that waits comes first. */
const PAUSE_MS = 5;
/** After a failure: the disk may be full. */
const RETRY_MS = 1000;

/** A process that ends in between leaves what is to be deleted, so the next one goes on. */
function createSweeper(tree: Tree, { sweep, swept, timers, afterMs = PAUSE_MS }: SweeperOptions): Sweeper {
  let cancel = (): void => {};
  const wait = (ms: number): void => {
    cancel();
    cancel = timers.after(ms, pass);
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
    if (!isLeft) return;
    swept();
    wait(PAUSE_MS);
  }
  return { later: () => wait(afterMs), cancel: () => cancel() };
}

/** Why a start discarded the view; `untrusted`: the machine went down while the view was written. */
export type DiscardReason = UnusableReason | 'untrusted';

export interface LmdbWriterOptions {
  readonly path: string;
  /** Updated when the view is replaced. The follower's caller announces single changes. */
  readonly freshness?: Pick<FreshnessCounters, 'beginAll' | 'setGeneration'>;
  /** Starts with an empty view and discards any other. */
  readonly empty?: boolean;
  readonly onDiscarded?: (reason: DiscardReason) => void;
  /** Milliseconds after an erasure until it is overwritten; 0 never does. */
  readonly wipeAfterMs?: number;
  /** Resolves with false when the disk refused the pages. */
  readonly syncToDisk?: (tree: Tree) => Promise<boolean>;
  /** Milliseconds without an expiry after which no expired record is remembered. */
  readonly expiredKeptMs?: number;
  readonly timers?: Timers | undefined;
  /** Memory for the sorting of a rebuild, bytes. */
  readonly sortBytes?: number;
  /** Room on the disk of a path, octets; `freeOctets` when not given. */
  readonly free?: WriteOptions['free'];
}

export interface LmdbViewWriter extends ViewWriter {
  /** Overwrites erased data now, within the limits of `wipe.ts`. */
  readonly wipe: () => void;
  /**
   * Writes a copy of the view without free pages into a directory, which is made, or emptied; it opens as a view. The caller removes the
   * directory, also when this fails.
   * @throws DiskFullError before anything is written, without room for all of it
   */
  copyTo(directory: string): Promise<ViewCopy>;
}

export interface ViewCopy extends ViewPosition {
  /** Of the copy, in the directory. */
  readonly file: string;
}

interface Serving {
  readonly generation: number;
  readonly tree: Tree;
  readonly inode: number | null;
  readonly wiper: Wiper;
  /** Deletes items of withdrawn dataset versions. */
  readonly sweeper: Sweeper;
  /** Deletes what is known of records that expired long ago. */
  readonly forgetter: Sweeper;
  readonly target: ReturnType<typeof treeTarget>;
}

/**
 * Opens the view for writing: one writer a directory, before any reader of the same process. A view that cannot be
 * trusted is discarded; the new one is empty and its cursor null. A view that is kept is not written to before the first change: on a full
 * disk it serves.
 * @throws DiskFullError when there is no view, and no room for one
 */
export function openLmdbWriter(options: LmdbWriterOptions): LmdbViewWriter {
  const { path: directory, freshness, wipeAfterMs = 1000, sortBytes, free } = options;
  const {
    expiredKeptMs = EXPIRED_KEPT_MS,
    timers = backgroundTimers,
    syncToDisk: sync = syncToDisk,
  } = options;
  if (prepareDirectory(directory)) options.onDiscarded?.('layout');
  /** Generation that `state` names as open for writing: without that a machine that goes down would leave a torn file that is trusted. */
  const state = readState(directory);
  let openGeneration = state?.isOpen === true ? state.generation : null;
  const markOpen = (generation: number): void => {
    if (openGeneration === generation) return;
    writeState(directory, generation, 'open');
    openGeneration = generation;
  };
  const opened = explained(() => openServing(state, options, markOpen));
  removeOthers(directory, opened.generation);
  let serving = servingOf(opened.tree, opened.generation);
  let rebuild: ViewRebuild | null = null;
  /** Settles when no copy is being made. */
  let copied: Promise<unknown> = Promise.resolve();
  freshness?.setGeneration(serving.generation);

  function servingOf(tree: Tree, generation: number): Serving {
    const path = generationPath(directory, generation);
    const wiper = createWiper(tree, path, wipeAfterMs, timers);
    const inode = inodeOf(path);
    const swept = (): void => {
      wiper.erased();
      wiper.later();
    };
    const sweeper = createSweeper(tree, { sweep: deleteWithdrawn, swept, timers });
    const forgetter = createSweeper(tree, { sweep: forgetAllExpired, swept, timers, afterMs: expiredKeptMs });
    // The process before may have left some of both.
    sweeper.later();
    forgetter.later();
    return { generation, tree, inode, wiper, sweeper, forgetter, target: treeTarget(tree, wiper.erased) };
  }

  /** The order matters: state on disk, then the generation that readers read, while all counters say that it changes. */
  function serve(tree: Tree, generation: number): void {
    markOpen(generation);
    const old = serving;
    serving = servingOf(tree, generation);
    const end = freshness?.beginAll();
    freshness?.setGeneration(generation);
    end?.();
    old.wiper.close();
    old.sweeper.cancel();
    old.forgetter.cancel();
    // Threads that still read the old file keep it until they have switched.
    void copied.then(() => old.tree.close());
    removeGeneration(directory, old.generation);
  }

  return {
    wipe: () => serving.wiper.now(),
    async copyTo(to) {
      // The tree stays open until the copy is made.
      const copying = copyAsView(serving.tree, to, { timers, free }).catch(rethrow);
      copied = Promise.allSettled([copied, copying]);
      return positionIn(await copying);
    },
    cursor: () => positionOf(serving.tree).cursor,
    epoch: () => positionOf(serving.tree).epoch,
    isLost() {
      const { generation, inode, wiper } = serving;
      return (
        wiper.isDamaged() ||
        inodeOf(generationPath(directory, generation)) !== inode ||
        readState(directory)?.generation !== generation
      );
    },
    async apply(changes, next) {
      const { tree, target, wiper, sweeper, forgetter } = serving;
      explained(() =>
        tree.transactionSync(() => {
          for (const change of changes) applyChange(target, change);
          tree.putSync(CURSOR_KEY, encodeCursor(next));
        }),
      );
      wiper.later();
      if (changes.some(({ type }) => type === 'dataset.withdrawn')) sweeper.later();
      if (changes.some(({ cause }) => cause === 'expiry')) forgetter.later();
    },
    async rebuild() {
      await rebuild?.discard();
      const generation = serving.generation + 1;
      // The directory may have been removed.
      makeFolderSync(directory, 0o700);
      const started = startLmdbRebuild({
        path: generationPath(directory, generation),
        sortPath: join(directory, 'sorting'),
        sortBytes,
        free,
        syncToDisk: sync,
        serve: (tree) => serve(tree, generation),
        ended: () => {
          rebuild = null;
          if (serving.generation !== generation) removeGeneration(directory, generation);
        },
      });
      rebuild = {
        ...started,
        load: (changes) => started.load(changes).catch(rethrow),
        adopt: (file, has) => started.adopt(file, has).catch(rethrow),
        apply: (changes, cursor) => started.apply(changes, cursor).catch(rethrow),
        finish: (changes, cursor, epoch) => started.finish(changes, cursor, epoch).catch(rethrow),
      };
      return rebuild;
    },
    async close() {
      await rebuild?.discard();
      await copied;
      serving.wiper.close();
      serving.sweeper.cancel();
      serving.forgetter.cancel();
      const isSynced = await sync(serving.tree);
      await serving.tree.close();
      if (isSynced && openGeneration === serving.generation) markClean(directory, serving.generation);
    },
  };

  function explained<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      return rethrow(error);
    }
  }

  function rethrow(error: unknown): never {
    throw asDiskFault(error, directory, free ?? freeOctets);
  }
}

/** Without the mark the view is trusted as well, until the machine starts again. */
function markClean(directory: string, generation: number): void {
  try {
    writeState(directory, generation, 'clean');
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
  }
}

async function positionIn(file: string): Promise<ViewCopy> {
  const tree = openForReading(file);
  try {
    return { file, ...positionOf(tree) };
  } finally {
    await tree.close();
  }
}

/** Opens the view that serves, or makes an empty one. */
function openServing(
  state: ViewState | null,
  { path: directory, empty = false, onDiscarded, free }: LmdbWriterOptions,
  markOpen: (generation: number) => void,
): { readonly tree: Tree; readonly generation: number } {
  const generation = state?.generation ?? 1;
  const path = generationPath(directory, generation);
  const options: WriteOptions = { free, beforeWrite: () => markOpen(generation) };
  if (state !== null && !empty) {
    const found = state.isTrusted ? openExisting(path, options) : 'untrusted';
    if (typeof found !== 'string') {
      // Not worth a start that fails: a later wipe takes it along.
      unlessFull(() => removeFilling(found));
      return { tree: found, generation };
    }
    onDiscarded?.(found);
  }
  return { tree: createNew(path, options), generation };
}

function unlessFull(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
  }
}

/** What LMDB reports of a full disk: the system's text or number, or EIO for a write that was cut short. */
function asDiskFault(error: unknown, directory: string, free: (path: string) => number): unknown {
  const { message, code } = error as { message?: unknown; code?: unknown };
  if (error instanceof DiskFullError) return error;
  if (isOutOfSpace(error) || code === 28 || /No space left|MAP_FULL/.test(String(message)))
    return new DiskFullError(directory, { cause: error });
  const isCutShort = code === 5 || /Input\/output error/.test(String(message));
  return isCutShort && free(directory) < PAGE_SIZE ? new DiskFullError(directory, { cause: error }) : error;
}
