import { type FSWatcher, watch } from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import type { Random } from '../../base/chance.ts';
import { systemFiles } from '../../base/files.ts';
import { uuidsOfTimes } from '../../base/ids.ts';
import { pause, realTimers, type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { isBusy } from '../engine/engine-errors.ts';
import { type Marks, NO_MARKS, StoreSignals } from '../engine/signals.ts';
import { changeSource } from '../log/change-reader.ts';
import { createRecentChanges } from '../log/recent-changes.ts';
import { migrate, type TablesUse } from '../migrations/migrate.ts';
import { type Store, WORK_TOPICS } from '../store.ts';
import { type Database, readerOn, SqliteConnection } from './driver.ts';
import { GroupCommit } from './group-commit.ts';
import { createLeftovers, type Emptied } from './leftovers.ts';

/**
 * Milliseconds that SQLite waits for another process that opens or closes the file. Meanwhile it blocks the event loop. A lock that others
 * hold for longer is waited for by timer.
 */
const BUSY_TIMEOUT = 5_000;
const OPEN_RETRY_MS = 10;
/** A scrub that finds a reader or writer in the way looks again so often, and after so many milliseconds. */
const SCRUB_TRIES = 3;
const SCRUB_RETRY_MS = 2;

/**
 * FULL: a commit is on disk before it is acknowledged. secure_delete: deleted bytes are overwritten with zeros. foreign_keys: off while the
 * tables are migrated, because a step that replaces a table would otherwise delete the rows that reference it. SQLite ignores this pragma
 * inside a transaction. temp_store: what a rollback would need stays in memory, so that no payload lands in a temporary file.
 */
const PRAGMAS = ['synchronous = FULL', 'foreign_keys = OFF', 'secure_delete = ON', 'temp_store = MEMORY'];

export interface SqliteOptions extends Partial<Pick<WatchCommitsOptions, 'watchFile'>> {
  /** Path; its directory exists. */
  readonly file: string;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly random?: Random | undefined;
  /** As of `openStore`. */
  readonly tables?: TablesUse | undefined;
  /** Opens a connection. */
  readonly connect?: (file: string, options: DatabaseSyncOptions) => Database;
}

/** Opens the embedded engine on one file, creating and migrating it. Several processes may have it open. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { file, clock, timers = realTimers, connect = connectTo, tables } = options;
  // SQLite gives its log and index files the mode of this file.
  systemFiles.open(file, 'a', 0o600).close();
  systemFiles.setMode(file, 0o600);
  const inode = systemFiles.facts(file)?.inode;
  /** Writes to a removed file succeed, and are lost when the process ends. */
  const checkPlace = (): void => {
    const now = systemFiles.facts(file)?.inode;
    if (now !== inode)
      throw new Error(`the SQLite file was ${now === undefined ? 'removed' : 'replaced by another one'}`);
  };
  const ports = { timers, rowId: uuidsOfTimes(options.random), checkPlace };
  const writer = new SqliteConnection(connect(file, { timeout: BUSY_TIMEOUT }));
  let reader: SqliteConnection;
  let commits: GroupCommit;
  const signals = new StoreSignals(() =>
    watchCommits({
      ...options,
      // Of the writer: it does not count the commits of its own connection.
      version: () => JSON.stringify(writer.run('pragma data_version')),
      onCommit() {
        const seq = (reader.run('select seq from feed_head') as { seq: number }[])[0]?.seq ?? null;
        signals.tell({
          ...NO_MARKS,
          seq: seq === signals.lastSeq ? null : seq,
          work: new Set(WORK_TOPICS),
        });
      },
    }),
  );
  const recent = createRecentChanges({ ...options, isHeard: () => signals.isHeard });
  try {
    await whileBusy(timers, () => writer.run('pragma journal_mode = WAL'));
    for (const pragma of PRAGMAS) writer.run(`pragma ${pragma}`);
    writer.run('pragma busy_timeout = 0');
    const committed = (marks: Marks): void => {
      recent.committed(marks);
      signals.tell(marks);
    };
    commits = new GroupCommit(writer, committed, ports);
    await commits.write((tx) => migrate(tx, clock, tables));
    writer.run('pragma foreign_keys = ON');
    reader = new SqliteConnection(connect(file, { timeout: BUSY_TIMEOUT, readOnly: true }));
  } catch (error) {
    writer.close();
    throw error;
  }
  const between = <T>(task: () => T): Promise<T> => commits.between(task);
  const checkpoint = (): Emptied => emptyLog(writer, file);
  const leftovers = createLeftovers({ file, connect, between, checkpoint, timers });
  const read = readerOn(reader, timers);
  return {
    engine: 'sqlite',
    read,
    write: (work) => commits.write(work),
    changes: changeSource(read, signals, clock, recent),
    onWork: (topic, listener) => signals.onWork(topic, listener),
    onCommit: (listener) => signals.onCommit(listener),
    async scrub() {
      for (let tries = 1; ; tries++) {
        const log = await commits.between(checkpoint);
        if (log === 'moved') leftovers.written();
        if (log !== 'busy') break;
        if (tries === SCRUB_TRIES) return false;
        await pause(timers, SCRUB_RETRY_MS);
      }
      return leftovers.erase();
    },
    async ping() {
      checkPlace();
      reader.run('select seq from feed_head');
    },
    close: async () => {
      signals.stop();
      await commits.close();
      recent.forget();
      reader.close();
      writer.close();
      leftovers.close();
    },
  };
}

function connectTo(file: string, options: DatabaseSyncOptions): Database {
  return new DatabaseSync(file, options);
}

/** Checkpoints the write-ahead log and truncates it, which removes every old copy of a page. */
function emptyLog(writer: SqliteConnection, file: string): Emptied {
  if (systemFiles.facts(`${file}-wal`)?.octets === 0) return 'empty';
  try {
    const [row] = writer.run('pragma wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return row?.busy === 0 ? 'moved' : 'busy';
  } catch (error) {
    if (isBusy(error)) return 'busy';
    throw error;
  }
}

/** A change of journal mode does not use the busy timeout: it fails at once when two processes start together. */
async function whileBusy(timers: Timers, action: () => void): Promise<void> {
  const end = timers.elapsed() + BUSY_TIMEOUT;
  for (;;) {
    try {
      action();
      return;
    } catch (error) {
      if (!isBusy(error) || timers.elapsed() >= end) throw error;
    }
    await pause(timers, OPEN_RETRY_MS);
  }
}

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
  readonly timers?: Timers | undefined;
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
