import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { isBusy } from '../engine/engine-errors.ts';
import { StoreSignals } from '../engine/signals.ts';
import { NO_MARKS } from '../engine/unit-marks.ts';
import { WORK_TOPICS } from '../engine/work-topics.ts';
import { changeSource } from '../log/change-reader.ts';
import { createRecentChanges } from '../log/recent-changes.ts';
import { migrate } from '../migrations/migrate.ts';
import type { Store } from '../store.ts';
import { readerOn, SqliteConnection } from './driver.ts';
import { GroupCommit } from './group-commit.ts';
import { watchCommits } from './watch-commits.ts';

/** Milliseconds that SQLite waits for a lock. Meanwhile it blocks the event loop, so the writer waits by timer instead. */
const BUSY_TIMEOUT = 5_000;
const WRITER_BUSY_TIMEOUT = 5;

/**
 * FULL: a commit is on disk before it is acknowledged. secure_delete: deleted bytes are overwritten with zeros. foreign_keys: off while the
 * tables are migrated, because a step that replaces a table would otherwise delete the rows that reference it. SQLite ignores this pragma
 * inside a transaction. temp_store: what a rollback would need stays in memory, so that no payload lands in a temporary file.
 */
const PRAGMAS = ['synchronous = FULL', 'foreign_keys = OFF', 'secure_delete = ON', 'temp_store = MEMORY'];

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
    watchCommits({
      file,
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
  const recent = createRecentChanges({ isHeard: () => signals.isHeard, clock });
  try {
    await whileBusy(() => writer.run('pragma journal_mode = WAL'));
    for (const pragma of PRAGMAS) writer.run(`pragma ${pragma}`);
    writer.run(`pragma busy_timeout = ${WRITER_BUSY_TIMEOUT}`);
    commits = new GroupCommit(writer, (marks) => {
      recent.committed(marks);
      signals.tell(marks);
    });
    await commits.write((tx) => migrate(tx, clock));
    writer.run('pragma foreign_keys = ON');
    reader = new SqliteConnection(new DatabaseSync(file, { timeout: BUSY_TIMEOUT, readOnly: true }));
  } catch (error) {
    writer.close();
    throw error;
  }
  const read = readerOn(reader);
  const { ino } = statSync(file);
  return {
    engine: 'sqlite',
    read,
    write: (work) => commits.write(work),
    changes: changeSource(read, signals, clock, recent),
    onWork: (topic, listener) => signals.onWork(topic, listener),
    onCommit: (listener) => signals.onCommit(listener),
    scrub: () => commits.between(() => scrub(writer, file)),
    async ping() {
      // Writes to a removed file succeed and are lost when the process ends.
      if (statSync(file).ino !== ino) throw new Error('the SQLite file was replaced by another one');
      reader.run('select seq from feed_head');
    },
    close: async () => {
      signals.stop();
      await commits.close();
      recent.forget();
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
