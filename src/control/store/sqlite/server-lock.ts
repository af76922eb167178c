import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../engine/engine-errors.ts';

/** Stays when the lock is released. */
export const LOCK_FILE = 'serve.lock';
/** Beside the lock, because nobody can read a database that is locked exclusively. */
const PID_FILE = 'serve.pid';

export interface ServerLock {
  release(): void;
}

/** Another server uses the data directory. `pid` is null where it cannot be told. */
export interface ServerLockHeld {
  readonly pid: number | null;
}

/**
 * Takes the lock of a data directory: one server at a time. The lock is SQLite's own on a file that holds nothing else, so the
 * kernel takes it back when the process ends, however it ends (docs/adr/0018-one-server-per-data-directory.md).
 *
 * No other code of this process may open the lock file: closing it would give the lock up (POSIX advisory locks).
 */
export function lockDataDir(dataDir: string): ServerLock | ServerLockHeld {
  const db = new DatabaseSync(join(dataDir, LOCK_FILE), { timeout: 0 });
  try {
    db.exec('begin exclusive');
  } catch (error) {
    db.close();
    if (isBusy(error)) return { pid: readPid(dataDir) };
    throw error;
  }
  writeFileSync(join(dataDir, PID_FILE), `${process.pid}\n`, { mode: 0o600 });
  return {
    release() {
      rmSync(join(dataDir, PID_FILE), { force: true });
      db.close();
    },
  };
}

function readPid(dataDir: string): number | null {
  try {
    const pid = Number(readFileSync(join(dataDir, PID_FILE), 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}
