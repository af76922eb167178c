import { DatabaseSync } from 'node:sqlite';
import { nextEpoch } from '../../base/ids.ts';
import { withNewEpoch } from '../service-facts.ts';

/** Milliseconds that the copy waits for a writer. */
const BUSY_TIMEOUT = 10_000;

/**
 * Copies a database into a new file while other processes read and write it: one consistent state, that of a moment during the
 * call. Blocks this process until it is done. Without the hourly keys of the feed: a copy is kept for longer than they may exist.
 * @param target must not exist
 * @throws the engine's error; the target is then of no use
 */
export function copySqlite(file: string, target: string): void {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT, readOnly: true });
  try {
    db.prepare('vacuum into ?').run(target);
  } finally {
    db.close();
  }
  const copy = new DatabaseSync(target);
  try {
    // The octets too; and no page goes into a journal on the disk first.
    copy.exec('pragma secure_delete = on; pragma journal_mode = memory');
    if (hasTable(copy, 'feed_keys')) copy.exec('delete from feed_keys');
  } finally {
    copy.close();
  }
}

/** A database of an earlier release may lack it. */
function hasTable(db: DatabaseSync, name: string): boolean {
  return db.prepare('select 1 from sqlite_schema where name = ?').get(name) !== undefined;
}

export interface SqliteFacts {
  /** Names of the migrations that were run, in order. */
  readonly migrations: readonly string[];
  /** Of the secret that it was made with; null in a database of an earlier version. */
  readonly fingerprint: string | null;
}

/** Reads a whole database for faults. @throws Error when it has one */
export function checkSqlite(file: string): SqliteFacts {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT, readOnly: true });
  try {
    const [row] = db.prepare('pragma quick_check(1)').all();
    if (row?.quick_check !== 'ok') throw new Error('the database is damaged. Restore a backup');
    const rows = db.prepare('select name from kysely_migration order by name').all();
    const migrations = rows.map(({ name }) => String(name));
    const hasFacts = migrations.some((name) => name >= '0003');
    const fact = hasFacts
      ? db.prepare("select value from service_facts where name = 'secret_fingerprint'").get()
      : undefined;
    return { migrations, fingerprint: fact === undefined ? null : String(fact.value) };
  } finally {
    db.close();
  }
}

/**
 * Gives a restored database, which no process has open, a later epoch. Its log goes on from an earlier state: under the same epoch a place that
 * somebody read in the lost part of the log would be a place in what is written from now on, and skip that.
 * A database of a release without epochs gets one by its migration.
 * @param now milliseconds since the epoch of Unix
 */
export function renewSqliteEpoch(file: string, now: number): void {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT });
  try {
    db.exec('pragma secure_delete = on');
    const fact = hasTable(db, 'service_facts')
      ? db.prepare("select value from service_facts where name = 'epoch'").get()
      : undefined;
    if (fact === undefined) return;
    const next = nextEpoch(String(fact.value), now);
    db.exec('begin immediate');
    db.prepare("update service_facts set value = ? where name = 'epoch'").run(next);
    for (const sql of withNewEpoch(next)) db.exec(sql);
    db.exec('commit');
  } finally {
    db.close();
  }
}
