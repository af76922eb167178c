import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepareDataDir } from '../../config/data-dir.ts';
import { checkSqlite } from '../../control/store/sqlite-backup.ts';
import { takeServerLock } from '../../start-checks.ts';
import { commandConfig } from '../context.ts';
import { InputError, print } from '../output.ts';
import { DATABASE_FILE, writeInto } from './backup.ts';
import { describeFile, MANIFEST_FILE, type Manifest, parseManifest } from './manifest.ts';

/**
 * Puts a backup into the data directory, which must be empty. Every file is compared with the manifest before the first one is written,
 * and the database gets its name last: a restore that was interrupted leaves no service behind that lacks its keys.
 */
export function restore(folder: string, json: boolean): void {
  const { dataDir, databaseUrl } = commandConfig();
  const source = resolve(folder);
  const manifest = readManifest(source);
  if ((manifest.engine === 'postgres') !== (databaseUrl !== null)) {
    throw new InputError(
      manifest.engine === 'postgres'
        ? 'The backup is of a service with PostgreSQL: set UQRP_DATABASE_URL, and restore the database with its own tools'
        : 'The backup holds an SQLite database, and UQRP_DATABASE_URL is set: unset it',
    );
  }
  const contents = manifest.files.map((file) => {
    const content = readOr(join(source, file.path));
    const found = content === null ? null : describeFile(file.path, content);
    if (content === null || found?.sha256 !== file.sha256) {
      throw new InputError(
        `${join(source, file.path)} is missing or is not what the manifest says: nothing was restored`,
      );
    }
    return { path: file.path, content };
  });
  const isUsed = statSync(join(dataDir, 'serve.lock'), { throwIfNoEntry: false }) !== undefined;
  // Tells of a running server by its process; a stopped one has left files, which are in the way too.
  if (isUsed) takeServerLock(dataDir).release();
  const isThere = statSync(dataDir, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (isThere && readdirSync(dataDir).length > 0) {
    throw new InputError(`UQRP_DATA_DIR ${dataDir} is not empty: move it away, or choose another directory`);
  }
  prepareDataDir(dataDir);
  const lock = takeServerLock(dataDir);
  try {
    for (const { path, content } of contents) {
      writeInto(dataDir, path === DATABASE_FILE ? `${DATABASE_FILE}.restoring` : path, content);
    }
    if (manifest.engine === 'sqlite') {
      const draft = join(dataDir, `${DATABASE_FILE}.restoring`);
      checkSqlite(draft);
      renameSync(draft, join(dataDir, DATABASE_FILE));
    }
  } finally {
    lock.release();
  }
  print(
    json
      ? JSON.stringify({ data_dir: dataDir, files: contents.length, made_at: manifest.made_at })
      : `${contents.length} files of ${manifest.made_at} restored into ${dataDir}`,
  );
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
