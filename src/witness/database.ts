import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemFiles as files } from '../base/files.ts';

/** Milliseconds that a commit waits for another process, such as `uqrp witness trust`. */
const BUSY_MS = 5_000;

const TABLES = `
  create table witness (name text not null, key text not null) strict;
  create table logs (
    origin_hash text primary key,
    vkey text not null,
    size integer not null,
    root blob not null,
    note text
  ) strict, without rowid`;

/** What the witness holds of one log: its only memory. */
export interface LogRow {
  /** Verifier key, whose name is the origin. */
  readonly vkey: string;
  /** Of the latest checkpoint that was cosigned; 0 before the first. */
  readonly size: number;
  readonly root: Uint8Array;
  /** That checkpoint with the signature of the log and our own. Null before the first. */
  readonly note: string | null;
}

export interface WitnessDatabase {
  readonly name: string;
  /** Ed25519. It is kept beside the rows, so that nobody has the key without the memory. */
  readonly key: KeyObject;
  log(hash: string): LogRow | null;
  /** Adds a log where there is none of this origin. @returns the verifier key of the log that is there then */
  addLog(hash: string, row: LogRow): string;
  /** The row is on disk, content and name, when it returns. @param run gets the row, or null; what it keeps replaces the row */
  change<T>(
    hash: string,
    run: (row: LogRow | null) => { readonly keep: LogRow | null; readonly result: T },
  ): T;
  close(): void;
}

/** SHA-256 in hexadecimal: the key of a log, and its name in the path for monitors. */
export function originHash(origin: string): string {
  return createHash('sha256').update(origin).digest('hex');
}

/**
 * Makes the database under another name and links it: a crash leaves the whole database or none.
 * @throws EEXIST where there is one
 */
export function makeWitnessDatabase(path: string, name: string, key: KeyObject): void {
  const draft = files.draftOf(path);
  try {
    files.open(draft, 'wx', 0o600).close();
    const db = new DatabaseSync(draft);
    db.exec(`pragma synchronous = extra; begin; ${TABLES}`);
    db.prepare('insert into witness values (?, ?)').run(name, key.export({ type: 'pkcs8', format: 'pem' }));
    db.exec('commit');
    db.close();
    files.link(draft, path);
  } finally {
    files.remove(draft);
  }
  files.syncFolder(dirname(path));
}

/** Null where `makeWitnessDatabase` made none: a witness without its memory must not start. */
export function openWitnessDatabase(path: string): WitnessDatabase | null {
  const inode = files.facts(path)?.inode;
  if (inode === undefined) return null;
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  // A rollback journal and `extra`: after the commit even the removal of the journal is on disk, so no crash of the machine takes it back.
  db.exec('pragma journal_mode = delete; pragma synchronous = extra');
  const self = db.prepare('select name, key from witness').get() as { name: string; key: string };
  const select = db.prepare('select vkey, size, root, note from logs where origin_hash = ?');
  const log = (hash: string): LogRow | null => (select.get(hash) as LogRow | undefined) ?? null;

  /** A file that was put in its place has another memory. What is written to a removed one is lost. */
  function checkPlace(): void {
    if (files.facts(path)?.inode !== inode) throw new Error(`${path} was removed or replaced`);
  }

  return {
    name: self.name,
    key: createPrivateKey(self.key),
    log,
    addLog(hash, { vkey, size, root, note }) {
      db.prepare('insert into logs values (?, ?, ?, ?, ?) on conflict do nothing').run(
        hash,
        vkey,
        size,
        root,
        note,
      );
      return log(hash)!.vkey;
    },
    change(hash, run) {
      db.exec('begin immediate');
      try {
        checkPlace();
        const { keep, result } = run(log(hash));
        if (keep !== null) {
          const { size, root, note } = keep;
          db.prepare('update logs set size = ?, root = ?, note = ? where origin_hash = ?').run(
            size,
            root,
            note,
            hash,
          );
        }
        db.exec('commit');
        return result;
      } catch (error) {
        // SQLite has rolled back by itself where the disk is full.
        if (db.isTransaction) db.exec('rollback');
        throw error;
      }
    },
    close: () => db.close(),
  };
}
