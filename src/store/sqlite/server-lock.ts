import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isOutOfSpace, replaceFileSync, systemFiles } from '../../base/files.ts';
import { isBusy } from '../engine/engine-errors.ts';

/** Stays when the lock is released. */
export const LOCK_FILE = 'serve.lock';
/** A separate file, because a database that is locked exclusively cannot be read. */
const PID_FILE = 'serve.pid';

export interface ServerLock {
  release(): void;
}

/** Another server uses the data directory. `pid` is null when its file cannot be read. */
export interface ServerLockHeld {
  readonly pid: number | null;
}

/** Something else stands where the lock or its process id belongs: what it is, and what to do. */
export interface ServerLockFault {
  readonly fault: string;
}

/**
 * Takes the lock of a data directory: one server at a time. It is a lock of SQLite on a file that holds nothing else, so the
 * kernel takes it back when the process ends, however it ends (docs/adr/06-data-directory.md).
 *
 * No other code of this process may open the lock file: closing it would release the lock (POSIX advisory locks).
 */
export function lockDataDir(dataDir: string): ServerLock | ServerLockHeld | ServerLockFault {
  const lockFile = join(dataDir, LOCK_FILE);
  const pidFile = join(dataDir, PID_FILE);
  // A link would lock, and the process id overwrite, a file somewhere else.
  const strange = [lockFile, pidFile].find(
    (path) => (systemFiles.facts(path, 'link')?.kind ?? 'file') !== 'file',
  );
  if (strange !== undefined) return { fault: `${strange} is not a regular file. Remove it.` };
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(lockFile, { timeout: 0 });
    // Nothing is ever written, and a full disk has no room for a journal.
    db.exec('pragma journal_mode = memory');
    db.exec('begin exclusive');
    const taken = db;
    writePid(pidFile);
    return {
      release() {
        systemFiles.remove(pidFile);
        taken.close();
      },
    };
  } catch (error) {
    db?.close();
    if (isBusy(error)) return { pid: readPid(pidFile) };
    const fault = faultText(error, lockFile);
    if (fault === null) throw error;
    return { fault };
  }
}

/**
 * Whether a server seems to run over a data directory, by its process id alone. The lock is not tried: a server that starts at
 * that moment would find it taken.
 */
export function hasServer(dataDir: string): boolean {
  return readPid(join(dataDir, PID_FILE)) !== null;
}

/** The lock holds without it, so a full disk does not keep a server from starting. */
function writePid(pidFile: string): void {
  try {
    replaceFileSync(pidFile, `${process.pid}\n`, 0o600);
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
  }
}

/** Result codes of SQLite and of the system for a lock file that cannot be used; null for other errors. */
function faultText(error: unknown, lockFile: string): string | null {
  const { errcode, code } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  switch (typeof errcode === 'number' ? errcode & 0xff : code) {
    case 26: // SQLITE_NOTADB. A held lock would have been busy before its content was read.
      return `${lockFile} has content, and the file of a lock is empty. No server holds it. Remove it.`;
    case 8: // SQLITE_READONLY
    case 14: // SQLITE_CANTOPEN
    case 'EACCES':
      return `${lockFile} cannot be opened. Let this user read and write the files of the directory.`;
    case 13: // SQLITE_FULL
    case 'ENOSPC':
      return `${lockFile} cannot be written: the disk is full. Make room.`;
    case 'EROFS':
      return `${lockFile} cannot be written: the file system is read-only. The log of the kernel says why (dmesg). Mount it for writing.`;
    default:
      return null;
  }
}

/** The process id in the file, if such a process runs: the file of a killed server stays. */
function readPid(pidFile: string): number | null {
  try {
    const pid = Number(systemFiles.read(pidFile).toString('utf8', 0, 20));
    return Number.isSafeInteger(pid) && pid > 0 && isRunning(pid) ? pid : null;
  } catch {
    return null;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
