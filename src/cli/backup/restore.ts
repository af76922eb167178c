import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepareDataDir, UNFINISHED_RESTORE } from '../../ops/config/data-dir.ts';
import { takeServerLock } from '../../process/start-checks.ts';
import { checkSqlite } from '../../store/sqlite/backup.ts';
import { LOCK_FILE, type ServerLock } from '../../store/sqlite/server-lock.ts';
import { commandConfig } from '../context.ts';
import { InputError, print } from '../output.ts';
import { copyInto, DATABASE_FILE, pathsOf, syncPath, writeInto } from './backup.ts';
import { type BackupFile, describeFile, MANIFEST_FILE, type Manifest, parseManifest } from './manifest.ts';

export interface RestoreTarget {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
}

export function restore(folder: string, json: boolean): void {
  const config = commandConfig();
  const { files, made_at } = restoreInto(folder, config);
  print(
    json
      ? JSON.stringify({ data_dir: config.dataDir, files: files.length, made_at })
      : `${files.length} files of ${made_at} restored into ${config.dataDir}`,
  );
}

/**
 * Restores into an empty data directory, after it has compared every file with the manifest. A failed restore removes
 * what it wrote. A killed one leaves `UNFINISHED_RESTORE`: starts and commands refuse it, and another restore may
 * begin. `onWritten` gets the number of files so far, for tests.
 */
export function restoreInto(
  folder: string,
  { dataDir, databaseUrl }: RestoreTarget,
  onWritten: (files: number) => void = () => {},
): Manifest {
  const source = resolve(folder);
  const manifest = readManifest(source);
  if ((manifest.engine === 'postgres') !== (databaseUrl !== null)) {
    throw new InputError(
      manifest.engine === 'postgres'
        ? 'The backup is of a service with PostgreSQL: set UQRP_DATABASE_URL, and restore the database with its own tools'
        : 'The backup holds an SQLite database, and UQRP_DATABASE_URL is set: unset it',
    );
  }
  for (const file of manifest.files) checkFile(join(source, file.path), file);
  const lock = claim(dataDir);
  try {
    onWritten(0);
    for (const [index, file] of manifest.files.entries()) {
      copyInto(dataDir, file.path, join(source, file.path));
      // Again: the backup may have changed since it was compared.
      checkFile(join(dataDir, file.path), file);
      onWritten(index + 1);
    }
    if (manifest.engine === 'sqlite') checkSqlite(join(dataDir, DATABASE_FILE));
  } catch (error) {
    removeRestored(dataDir);
    removeMarker(dataDir);
    throw error;
  } finally {
    lock.release();
  }
  removeMarker(dataDir);
  return manifest;
}

function checkFile(file: string, { path, sha256 }: BackupFile): void {
  let found: string | null = null;
  try {
    found = describeFile(path, file).sha256;
  } catch {
    // A missing or unreadable file counts as a difference.
  }
  if (found === sha256) return;
  throw new InputError(`${file} is missing or is not what the manifest says: nothing was restored`);
}

/**
 * Locks the data directory for a restore and writes the marker. Throws InputError when the directory is not empty,
 * StartError when a server uses it.
 */
function claim(dataDir: string): ServerLock {
  const found = entriesOf(dataDir);
  if (found.includes(UNFINISHED_RESTORE)) {
    const lock = takeServerLock(dataDir);
    removeRestored(dataDir);
    return lock;
  }
  // Throws when a server is running. A stopped server has left files, which make the directory non-empty.
  if (found.includes(LOCK_FILE)) takeServerLock(dataDir).release();
  if (found.some((name) => name !== LOCK_FILE)) {
    throw new InputError(`UQRP_DATA_DIR ${dataDir} is not empty: move it away, or choose another directory`);
  }
  prepareDataDir(dataDir);
  // Before the lock: a process killed between the two leaves the marker, not what looks like a server's directory.
  writeInto(dataDir, UNFINISHED_RESTORE, Buffer.of());
  try {
    return takeServerLock(dataDir);
  } catch (error) {
    removeMarker(dataDir);
    throw error;
  }
}

/** Removes the files of an unfinished restore, except files that no backup contains. */
function removeRestored(dataDir: string): void {
  for (const path of pathsOf(dataDir)) rmSync(join(dataDir, path), { force: true });
  for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, DATABASE_FILE + suffix), { force: true });
  for (const folder of ['keys', 'tls'].filter((name) => isEmptyFolder(join(dataDir, name)))) {
    rmdirSync(join(dataDir, folder));
  }
  syncPath(dataDir);
}

/** Removed last: all restored files are already on disk. */
function removeMarker(dataDir: string): void {
  rmSync(join(dataDir, UNFINISHED_RESTORE), { force: true });
  syncPath(dataDir);
}

function isEmptyFolder(path: string): boolean {
  return existsSync(path) && readdirSync(path).length === 0;
}

function entriesOf(dataDir: string): string[] {
  const isThere = statSync(dataDir, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isThere ? readdirSync(dataDir) : [];
}

function readManifest(source: string): Manifest {
  const path = join(source, MANIFEST_FILE);
  const text = readOr(path);
  if (text === null) throw new InputError(`${path} cannot be read: this is no finished backup`);
  const manifest = parseManifest(text.toString('utf8'));
  if (typeof manifest === 'string') throw new InputError(`${path} cannot be used: ${manifest}`);
  return manifest;
}

function readOr(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
