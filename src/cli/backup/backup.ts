import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { isOutOfSpace } from '../../base/files/free-space.ts';
import { programVersion } from '../../ops/config/version.ts';
import { checkSqlite, copySqlite } from '../../store/sqlite/backup.ts';
import { configWithData } from '../context.ts';
import { InputError, print } from '../output.ts';
import { type BackupFile, describeFile, isBackupPath, MANIFEST_FILE, newManifest } from './manifest.ts';

export const DATABASE_FILE = 'uqrp.sqlite';
const FOLDERS = ['.', 'keys', 'tls'];

/** Copies what the data directory holds into a new folder, beside a running server. The manifest is written last. */
export function backup(clock: Clock, folder: string, json: boolean): void {
  const { dataDir, databaseUrl, secret } = configWithData();
  const target = resolve(folder);
  const engine = databaseUrl === null ? 'sqlite' : 'postgres';
  if (engine === 'sqlite' && !existsSync(join(dataDir, DATABASE_FILE))) {
    throw new InputError(`${join(dataDir, DATABASE_FILE)} does not exist: there is nothing to back up`);
  }
  const paths = pathsOf(dataDir).filter((path) => path !== DATABASE_FILE);
  if (engine === 'postgres' && paths.length === 0) {
    throw new InputError(
      `There is nothing to back up in ${dataDir}: the database and its keys are in PostgreSQL. Dump it with pg_dump, and keep UQRP_SECRET ` +
        '(docs/operations/back-up.md). uqrp-backup.timer is of no use here.',
    );
  }
  makeEmptyFolder(target);
  let files: readonly BackupFile[];
  try {
    files = copyAll({ dataDir, target, engine, paths, clock });
  } catch (error) {
    // A timer tries again each night: what it left would fill the disk.
    rmSync(target, { recursive: true, force: true });
    throw backupFault(error, target);
  }
  const notes = notesFor(engine, secret !== null);
  if (json) print(JSON.stringify({ folder: target, engine, files: files.length, notes }));
  else print([`${files.length} files in ${target}`, ...notes].join('\n'));
}

interface Copying {
  readonly dataDir: string;
  readonly target: string;
  readonly engine: 'sqlite' | 'postgres';
  /** Besides the database. */
  readonly paths: readonly string[];
  readonly clock: Clock;
}

function copyAll({ dataDir, target, engine, paths, clock }: Copying): readonly BackupFile[] {
  const files: BackupFile[] = [];
  let migrations: readonly string[] = [];
  if (engine === 'sqlite') {
    const copy = join(target, DATABASE_FILE);
    copySqlite(join(dataDir, DATABASE_FILE), copy);
    migrations = checkSqlite(copy).migrations;
    syncPath(copy);
    files.push(describeFile(DATABASE_FILE, copy));
  }
  for (const path of paths) {
    writeInto(target, path, readFileSync(join(dataDir, path)));
    files.push(describeFile(path, join(target, path)));
  }
  const made = new Date(clock()).toISOString();
  const manifest = newManifest({ made_at: made, version: programVersion(), engine, migrations, files });
  writeInto(target, MANIFEST_FILE, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  return files;
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
    ...(engine === 'postgres' ? ['The database is not in it: dump PostgreSQL with pg_dump.'] : []),
    ...(hasOwnSecret ? ['UQRP_SECRET is not in it: keep it with the backup, in a safe place.'] : []),
  ];
}

/** Paths of the data directory that a backup includes, sorted. */
export function pathsOf(dataDir: string): string[] {
  return FOLDERS.filter((folder) => existsSync(join(dataDir, folder)))
    .flatMap((folder) =>
      readdirSync(join(dataDir, folder)).map((name) => (folder === '.' ? name : `${folder}/${name}`)),
    )
    .filter(isBackupPath)
    .sort();
}

function makeEmptyFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (readdirSync(path).length > 0) throw new InputError(`${path} is not empty: name a new folder`);
}

/** Writes a new file for its user alone, and waits until it is on disk. */
export function writeInto(folder: string, path: string, content: Uint8Array): void {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  writeFileSync(target, content, { flag: 'wx', mode: 0o600, flush: true });
  syncPath(dirname(target));
}

/** Copies a file of any size into a folder, for its user alone, and waits until it is on disk. The target must not exist. */
export function copyInto(folder: string, path: string, source: string): void {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  copyFileSync(source, target, constants.COPYFILE_EXCL);
  chmodSync(target, 0o600);
  syncPath(target);
  syncPath(dirname(target));
}

/** Waits until a file or directory is on disk. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
