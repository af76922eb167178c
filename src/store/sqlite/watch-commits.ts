import { type FSWatcher, watch } from 'node:fs';
import { type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';

export interface WatchCommitsOptions {
  /** Path of the database. */
  readonly file: string;
  /**
   * Differs after a commit of another process (sqlite.org/pragma.html#pragma_data_version). Throws while the file is locked or cannot be
   * read: the next look finds the same commit.
   */
  readonly version: () => unknown;
  /** Another process has committed. After an error it is called again at the next look. */
  readonly onCommit: () => void;
  readonly timers?: Timers;
  /** Calls back when the file is written. @throws when the system has no watch left */
  readonly watchFile?: (path: string, written: () => void) => { close(): void };
}

/** Milliseconds between two looks while the file is written, and where no watch can be had. */
const LOOK_MS = 100;
/** Milliseconds between two looks while nothing is written: a watch may miss a write, as on a network's file system. */
const QUIET_MS = 1_000;

/** Tells of commits of other processes until the function that it returns is called. */
export function watchCommits(options: WatchCommitsOptions): () => void {
  const { file, version, onCommit, timers = wholeSecondTimers, watchFile = watchForWrites } = options;
  let last: unknown = null;
  let watcher: { close(): void } | null = null;
  let cancel = (): void => {};
  let isStopped = false;

  function look(): void {
    try {
      const now = version();
      if (now === last) return;
      if (last !== null) onCommit();
      last = now;
    } catch {
      // The next look finds it.
    }
  }

  function unwatch(): void {
    watcher?.close();
    watcher = null;
  }

  /** Our own commits write the file too: one sign in `LOOK_MS` is enough. */
  function written(): void {
    unwatch();
    cancel();
    look();
    again(LOOK_MS);
  }

  /** A listener that is told may have stopped all of it. */
  function again(ms: number): void {
    if (!isStopped) cancel = timers.after(ms, rest);
  }

  function rest(): void {
    try {
      // Every commit is appended to the write-ahead log.
      watcher ??= watchFile(`${file}-wal`, written);
    } catch {
      // No watch is left, or the log is being removed.
    }
    // After the watch has begun: no commit falls between them.
    look();
    again(watcher === null ? LOOK_MS : QUIET_MS);
  }

  rest();
  return () => {
    isStopped = true;
    cancel();
    unwatch();
  };
}

function watchForWrites(path: string, written: () => void): FSWatcher {
  const watcher = watch(path, { persistent: false }, written);
  // The watch is closed then. Its looks go on by timer.
  watcher.on('error', written);
  return watcher;
}
