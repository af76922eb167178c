import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely } from 'kysely';
import type { Clock } from '../../../core/clock.ts';
import { every } from '../../../lifecycle/every.ts';
import { isBusy } from '../engine/engine-errors.ts';
import { StoreSignals } from '../engine/signals.ts';
import { NO_MARKS } from '../engine/unit-marks.ts';
import { changeSource } from '../log/change-reader.ts';
import { migrate } from '../migrations/migrate.ts';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';
import { SqliteConnection, sqliteDialect } from './driver.ts';
import { GroupCommit } from './group-commit.ts';

/** Milliseconds that SQLite waits for a lock. Meanwhile it blocks the event loop, so the writer waits by timer instead. */
const BUSY_TIMEOUT = 5_000;
const WRITER_BUSY_TIMEOUT = 5;

/** Milliseconds between two polls for commits of other processes. */
const WATCH_MS = 100;

/**
 * FULL: a commit is on disk before it is acknowledged. secure_delete: deleted bytes are overwritten with zeros.
 * temp_store: what a rollback would need stays in memory, so that no payload lands in a temporary file.
 */
const PRAGMAS = ['synchronous = FULL', 'foreign_keys = ON', 'secure_delete = ON', 'temp_store = MEMORY'];

/**
 * Opens the embedded engine on one file, creating and migrating it. Several processes may have it open.
 * @param file path; its directory exists
 */
export async function openSqliteStore(file: string, clock: Clock): Promise<Store> {
  // SQLite gives its log and index files the mode of this file.
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
  const writer = new SqliteConnection(new DatabaseSync(file, { timeout: BUSY_TIMEOUT }));
  let reader: SqliteConnection;
  let commits: GroupCommit;
  const signals = new StoreSignals(() =>
    watchFile(reader, (seq) => {
      if (seq !== signals.lastSeq) signals.tell({ ...NO_MARKS, seq });
    }),
  );
  try {
    await whileBusy(() => writer.run('pragma journal_mode = WAL'));
    for (const pragma of PRAGMAS) writer.run(`pragma ${pragma}`);
    writer.run(`pragma busy_timeout = ${WRITER_BUSY_TIMEOUT}`);
    commits = new GroupCommit(writer, (marks) => signals.tell(marks));
    await commits.write((tx) => migrate(tx, 'sqlite'));
    reader = new SqliteConnection(new DatabaseSync(file, { timeout: BUSY_TIMEOUT, readOnly: true }));
  } catch (error) {
    writer.close();
    throw error;
  }
  const read = new Kysely<Database>({ dialect: sqliteDialect(reader) });
  const { ino } = statSync(file);
  return {
    engine: 'sqlite',
    read,
    write: (work) => commits.write(work),
    changes: changeSource(read, signals, clock),
    onWork: (topic, listener) => signals.onWork(topic, listener),
    scrub: () => commits.between(() => scrub(writer, file)),
    async ping() {
      // Writes to a removed file succeed and are lost when the process ends.
      if (statSync(file).ino !== ino) throw new Error('the SQLite file was replaced by another one');
      reader.run('select seq from feed_head');
    },
    close: async () => {
      signals.stop();
      await commits.close();
      reader.close();
      writer.close();
    },
  };
}

/** Checkpoints the write-ahead log and truncates it, which removes every old copy of a page. */
function scrub(writer: SqliteConnection, file: string): boolean {
  if (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size === 0) return true;
  try {
    const [row] = writer.run('pragma wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return row?.busy === 0;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/**
 * Polls for changes of other processes. `data_version` changes with every commit of another connection
 * (sqlite.org/pragma.html#pragma_data_version), the writer of this process included, so only a new head of the log is reported.
 * A poll that fails, because the file is locked or cannot be read, is skipped; the next one finds the same change.
 */
function watchFile(reader: SqliteConnection, changed: (seq: number) => void): () => void {
  const version = (): unknown => JSON.stringify(reader.run('pragma data_version'));
  const head = (): number => (reader.run('select seq from feed_head') as { seq: number }[])[0]?.seq ?? 0;
  let last: unknown = null;
  let reported = 0;
  const isChanged = (): boolean => {
    try {
      const now = version();
      if (now === last) return false;
      const seq = head();
      const isNew = seq !== reported;
      last = now;
      reported = seq;
      return isNew;
    } catch {
      return false;
    }
  };
  isChanged();
  const watching = every({
    ms: WATCH_MS,
    task() {
      if (isChanged()) changed(reported);
    },
    onError() {},
  });
  return () => void watching.stop();
}

/** A change of journal mode does not use the busy timeout: it fails at once when two processes start together. */
async function whileBusy(action: () => void): Promise<void> {
  const end = performance.now() + BUSY_TIMEOUT;
  for (;;) {
    try {
      action();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
    }
    await sleep(10);
  }
}
