import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { InputError } from '../../base/errors.ts';
import { type Files, isOutOfSpace, makeFolderSync, replaceFileSync, systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import type { Config } from '../../ops/config/config.ts';
import { prepareDataDir, UNFINISHED_RESTORE } from '../../ops/config/data-dir.ts';
import { programVersion } from '../../ops/config/version.ts';
import { renewEpoch } from '../../store/service-facts.ts';
import { checkSqlite, copySqlite, renewSqliteEpoch } from '../../store/sqlite/backup.ts';
import { LOCK_FILE, type ServerLock } from '../../store/sqlite/server-lock.ts';
import type { Store } from '../../store/store.ts';
import { takeServerLock } from '../start-checks.ts';

export const MANIFEST_FILE = 'manifest.json';
const FORMAT = 1;

interface BackupFile {
  /** Path below the data directory, with `/` as separator. */
  readonly path: string;
  readonly octets: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Contents of a backup. Written last: a folder without it is not a backup. */
interface Manifest {
  readonly format: number;
  /** ISO 8601. */
  readonly made_at: string;
  readonly version: string;
  /** `sqlite`: the backup includes the database; `postgres`: it does not. */
  readonly engine: 'sqlite' | 'postgres';
  /** Migrations of the database; empty with PostgreSQL. */
  readonly migrations: readonly string[];
  readonly files: readonly BackupFile[];
}

/** Everything that a backup includes. Other files can be made again. */
const PATHS = [
  /^uqrp\.sqlite$/,
  /^secret$/,
  /^geoip\.mmdb$/,
  /^stock-map\.json$/,
  /^keys\/[a-z0-9.-]{1,253}\.json$/,
  /^tls\/(?:cert|key)\.pem$/,
];

function isBackupPath(path: string): boolean {
  return PATHS.some((pattern) => pattern.test(path)) && !path.includes('..');
}

export function newManifest(facts: Omit<Manifest, 'format'>): Manifest {
  return { format: FORMAT, ...facts };
}

/** Octets per read: a database may exceed memory and the limit of `readFileSync` (2 GiB). */
const CHUNK_OCTETS = 1_048_576;

/** Describes a file, read in chunks. `path`: in the manifest; `file`: on disk. Throws the system's error. */
export function describeFile(
  path: string,
  file: string,
  chunkOctets = CHUNK_OCTETS,
  files: Files = systemFiles,
): BackupFile {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(chunkOctets);
  const handle = files.open(file, 'r');
  let octets = 0;
  try {
    for (let read = handle.read(chunk, 0); read > 0; read = handle.read(chunk, octets)) {
      hash.update(chunk.subarray(0, read));
      octets += read;
    }
  } finally {
    handle.close();
  }
  return { path, octets, sha256: hash.digest('hex') };
}

/** Returns the manifest, or a message that says what is wrong. */
function parseManifest(text: string): Manifest | string {
  let value: Partial<Manifest> | null;
  try {
    value = JSON.parse(text) as Partial<Manifest> | null;
  } catch {
    return 'it is not JSON';
  }
  if (value?.format !== FORMAT) return `its format is not ${FORMAT}: another version of uqrp made it`;
  const { files, engine, migrations } = value;
  if (!Array.isArray(files) || !Array.isArray(migrations) || (engine !== 'sqlite' && engine !== 'postgres')) {
    return 'it lacks a field';
  }
  const strange = files.find((file) => typeof file?.path !== 'string' || !isBackupPath(file.path));
  return strange === undefined ? (value as Manifest) : 'it names a file that no backup holds';
}

export const DATABASE_FILE = 'uqrp.sqlite';
const FOLDERS = ['.', 'keys', 'tls'];

interface MadeBackup {
  readonly folder: string;
  readonly engine: Manifest['engine'];
  readonly files: number;
  /** What the backup lacks, for the operator. */
  readonly notes: readonly string[];
}

/**
 * Copies what the data directory holds into a new folder, beside a running server. The manifest is written last.
 * @throws InputError, with nothing left of the folder's content
 */
export function makeBackup(
  { dataDir, databaseUrl, secret }: Pick<Config, 'dataDir' | 'databaseUrl' | 'secret'>,
  clock: Clock,
  folder: string,
  files: Files = systemFiles,
): MadeBackup {
  const target = resolve(folder);
  const engine = databaseUrl === null ? 'sqlite' : 'postgres';
  if (engine === 'sqlite' && files.facts(join(dataDir, DATABASE_FILE)) === null) {
    throw new InputError(`${join(dataDir, DATABASE_FILE)} does not exist: there is nothing to back up`);
  }
  const paths = pathsOf(dataDir, files).filter((path) => path !== DATABASE_FILE);
  if (engine === 'postgres' && paths.length === 0) {
    throw new InputError(
      `There is nothing to back up in ${dataDir}: the database and its keys are in PostgreSQL. Dump it with pg_dump --exclude-table-data=feed_keys, and keep UQRP_SECRET ` +
        '(docs/operations/back-up.md). uqrp-backup.timer is of no use here.',
    );
  }
  makeEmptyFolder(target, files);
  let copied: readonly BackupFile[];
  try {
    copied = copyAll({ dataDir, target, engine, paths, clock, files });
  } catch (error) {
    // A timer tries again each night: what it left would fill the disk.
    files.remove(target);
    throw backupFault(error, target);
  }
  return { folder: target, engine, files: copied.length, notes: notesFor(engine, secret !== null) };
}

interface Copying {
  readonly dataDir: string;
  readonly target: string;
  readonly engine: 'sqlite' | 'postgres';
  /** Besides the database. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  readonly files: Files;
}

function copyAll({ dataDir, target, engine, paths, clock, files }: Copying): readonly BackupFile[] {
  const copied: BackupFile[] = [];
  let migrations: readonly string[] = [];
  if (engine === 'sqlite') {
    const copy = join(target, DATABASE_FILE);
    copySqlite(join(dataDir, DATABASE_FILE), copy);
    migrations = checkSqlite(copy).migrations;
    syncFile(copy, files);
    copied.push(describeFile(DATABASE_FILE, copy, CHUNK_OCTETS, files));
  }
  for (const path of paths) {
    writeInto(target, path, files.read(join(dataDir, path)), files);
    copied.push(describeFile(path, join(target, path), CHUNK_OCTETS, files));
  }
  const made = new Date(clock()).toISOString();
  const manifest = newManifest({
    made_at: made,
    version: programVersion(),
    engine,
    migrations,
    files: copied,
  });
  writeInto(target, MANIFEST_FILE, `${JSON.stringify(manifest, null, 2)}\n`, files);
  return copied;
}

/** SQLite says of a full disk neither code nor folder. */
const SQLITE_FULL = 13;

/** What a backup that failed says. */
export function backupFault(error: unknown, target: string): unknown {
  const { errcode } = error as { readonly errcode?: number };
  if (!isOutOfSpace(error) && errcode !== SQLITE_FULL) return error;
  return new InputError(
    `${target}: the disk is full. Make room, or name a folder on another disk. Nothing of this backup is left.`,
  );
}

function notesFor(engine: 'sqlite' | 'postgres', hasOwnSecret: boolean): string[] {
  return [
    ...(engine === 'postgres'
      ? ['The database is not in it: dump PostgreSQL with pg_dump --exclude-table-data=feed_keys.']
      : []),
    ...(hasOwnSecret ? ['UQRP_SECRET is not in it: keep it with the backup, in a safe place.'] : []),
  ];
}

/** Paths of the data directory that a backup includes, sorted. */
export function pathsOf(dataDir: string, files: Files = systemFiles): string[] {
  return FOLDERS.filter((folder) => files.facts(join(dataDir, folder)) !== null)
    .flatMap((folder) =>
      files.list(join(dataDir, folder)).map((name) => (folder === '.' ? name : `${folder}/${name}`)),
    )
    .filter(isBackupPath)
    .sort();
}

function makeEmptyFolder(path: string, files: Files): void {
  makeFolderSync(path, 0o700, files);
  if (files.list(path).length > 0) throw new InputError(`${path} is not empty: name a new folder`);
}

/** Writes a file for its user alone, and waits until it is on disk. */
function writeInto(folder: string, path: string, content: string | Uint8Array, files: Files): void {
  const target = join(folder, path);
  makeFolderSync(dirname(target), 0o700, files);
  replaceFileSync(target, content, 0o600, files);
}

/** Copies a file of any size into a folder, for its user alone, and waits until it is on disk. The target must not exist. */
function copyInto(folder: string, path: string, source: string, files: Files): void {
  const target = join(folder, path);
  makeFolderSync(dirname(target), 0o700, files);
  const from = files.open(source, 'r');
  try {
    const to = files.open(target, 'wx', 0o600);
    try {
      const chunk = Buffer.allocUnsafe(CHUNK_OCTETS);
      for (let at = 0, read = from.read(chunk, 0); read > 0; read = from.read(chunk, at)) {
        to.write(chunk.subarray(0, read), at);
        at += read;
      }
      to.sync();
    } finally {
      to.close();
    }
  } finally {
    from.close();
  }
  files.syncFolder(dirname(target));
}

/** Waits until a file that SQLite wrote is on disk, with its name. */
function syncFile(path: string, files: Files): void {
  const file = files.open(path, 'r+');
  try {
    file.sync();
  } finally {
    file.close();
  }
  files.syncFolder(dirname(path));
}

interface RestoreTarget {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
}

/**
 * Restores into an empty data directory, after it has compared every file with the manifest. An SQLite database gets a later epoch. A failed restore removes
 * what it wrote. A killed one leaves `UNFINISHED_RESTORE`: starts and commands refuse it, and another restore may
 * begin. `onWritten` gets the number of files so far, for tests.
 */
export function restoreInto(
  folder: string,
  { dataDir, databaseUrl }: RestoreTarget,
  clock: Clock,
  onWritten: (files: number) => void = () => {},
  files: Files = systemFiles,
): Manifest {
  const source = resolve(folder);
  const manifest = readManifest(source, files);
  if ((manifest.engine === 'postgres') !== (databaseUrl !== null)) {
    throw new InputError(
      manifest.engine === 'postgres'
        ? 'The backup is of a service with PostgreSQL: set UQRP_DATABASE_URL, and restore the database with its own tools'
        : 'The backup holds an SQLite database, and UQRP_DATABASE_URL is set: unset it',
    );
  }
  for (const file of manifest.files) checkFile(join(source, file.path), file, files);
  const lock = claim(dataDir, files);
  try {
    onWritten(0);
    for (const [index, file] of manifest.files.entries()) {
      copyInto(dataDir, file.path, join(source, file.path), files);
      // Again: the backup may have changed since it was compared.
      checkFile(join(dataDir, file.path), file, files);
      onWritten(index + 1);
    }
    if (manifest.engine === 'sqlite') {
      const file = join(dataDir, DATABASE_FILE);
      checkSqlite(file);
      renewSqliteEpoch(file, clock());
      syncFile(file, files);
    }
  } catch (error) {
    removeRestored(dataDir, files);
    removeMarker(dataDir, files);
    throw error;
  } finally {
    lock.release();
  }
  removeMarker(dataDir, files);
  return manifest;
}

/** What `restoreInto` does to an SQLite database, for one that was restored with other tools; a server may run. @returns the epoch */
export function renewStoreEpoch(store: Store, clock: Clock): Promise<string> {
  return store.write((tx) => renewEpoch(tx, clock()));
}

function checkFile(file: string, { path, sha256 }: BackupFile, files: Files): void {
  let found: string | null = null;
  try {
    found = describeFile(path, file, CHUNK_OCTETS, files).sha256;
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
function claim(dataDir: string, files: Files): ServerLock {
  const found = files.facts(dataDir)?.kind === 'folder' ? files.list(dataDir) : [];
  if (found.includes(UNFINISHED_RESTORE)) {
    const lock = takeServerLock(dataDir);
    removeRestored(dataDir, files);
    return lock;
  }
  // Throws when a server is running. A stopped server has left files, which make the directory non-empty.
  if (found.includes(LOCK_FILE)) takeServerLock(dataDir).release();
  if (found.some((name) => name !== LOCK_FILE)) {
    throw new InputError(`UQRP_DATA_DIR ${dataDir} is not empty: move it away, or choose another directory`);
  }
  prepareDataDir(dataDir);
  // Before the lock: a process killed between the two leaves the marker, not what looks like a server's directory.
  writeInto(dataDir, UNFINISHED_RESTORE, '', files);
  try {
    return takeServerLock(dataDir);
  } catch (error) {
    removeMarker(dataDir, files);
    throw error;
  }
}

/** Removes the files of an unfinished restore, except files that no backup contains. */
function removeRestored(dataDir: string, files: Files): void {
  for (const path of pathsOf(dataDir, files)) files.remove(join(dataDir, path));
  for (const suffix of ['-wal', '-shm']) files.remove(join(dataDir, DATABASE_FILE + suffix));
  for (const folder of ['keys', 'tls'].map((name) => join(dataDir, name))) {
    if (files.facts(folder) !== null && files.list(folder).length === 0) files.remove(folder);
  }
  files.syncFolder(dataDir);
}

/** Removed last: all restored files are already on disk. */
function removeMarker(dataDir: string, files: Files): void {
  files.remove(join(dataDir, UNFINISHED_RESTORE));
  files.syncFolder(dataDir);
}

function readManifest(source: string, files: Files): Manifest {
  const path = join(source, MANIFEST_FILE);
  const text = textOf(path, files);
  if (text === null) throw new InputError(`${path} cannot be read: this is no finished backup`);
  const manifest = parseManifest(text);
  if (typeof manifest === 'string') throw new InputError(`${path} cannot be used: ${manifest}`);
  return manifest;
}

/** Null also for what cannot be read. */
function textOf(path: string, files: Files): string | null {
  try {
    return files.read(path).toString();
  } catch {
    return null;
  }
}
