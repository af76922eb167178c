import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from './start-error.ts';

const OTHERS = 0o077;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** Directories inside the data directory that the server enters. */
const INNER = ['keys', 'tls'];
/** Exists from before the first file of a restore until after the last one. */
export const UNFINISHED_RESTORE = 'restore-unfinished';

export interface PreparedDataDir {
  /** Number of files and directories that other users could read or write before. */
  readonly narrowed: number;
}

/**
 * Makes the data directory when it is missing, and removes every right of other users from it and its files.
 * @throws StartError when it cannot be made or used, or belongs to another user
 */
export function prepareDataDir(dataDir: string): PreparedDataDir {
  return explained(dataDir, () => {
    const found = statOf(dataDir);
    if (found === null) makeDirectory(dataDir);
    else checkDirectory(dataDir, found);
    const inner = INNER.map((name) => join(dataDir, name)).filter((path) => statOf(path)?.isDirectory());
    const directories = [dataDir, ...inner];
    const files = directories.flatMap((directory) =>
      readdirSync(directory, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(directory, entry.name)),
    );
    const narrowed = [
      ...directories.map((path) => narrow(path, DIRECTORY_MODE)),
      ...files.map((path) => narrow(path, FILE_MODE)),
    ];
    return { narrowed: narrowed.filter(Boolean).length };
  });
}

/**
 * For commands on the data of a server. They make no directory: a missing one usually means a wrong variable.
 * @throws StartError when the directory is missing or unusable
 */
export function requireDataDir(dataDir: string): void {
  explained(dataDir, () => {
    const found = statOf(dataDir);
    if (found === null) {
      throw new StartError(
        `UQRP_DATA_DIR ${dataDir} does not exist. Set UQRP_DATA_DIR as for the server, or start the server first.`,
      );
    }
    checkDirectory(dataDir, found);
  });
}

function checkDirectory(path: string, found: Stats): void {
  if (!found.isDirectory())
    throw new StartError(`UQRP_DATA_DIR ${path} is not a directory. Choose another path.`);
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user) {
    throw new StartError(
      `UQRP_DATA_DIR ${path} belongs to user ${found.uid}, and this process runs as user ${user}. Run it as that user, or choose another directory.`,
    );
  }
  if (statOf(join(path, UNFINISHED_RESTORE)) !== null) {
    throw new StartError(
      `UQRP_DATA_DIR ${path}: a restore into it did not finish. Run uqrp restore again with the same directory, or empty it.`,
    );
  }
}

/** Makes one level at a time: Node's recursive mkdir does not return under /proc. */
function makeDirectory(path: string): void {
  const missing: string[] = [];
  for (let at = path; statOf(at) === null; at = dirname(at)) missing.push(at);
  for (const level of missing.toReversed()) {
    try {
      mkdirSync(level, { mode: DIRECTORY_MODE });
    } catch (error) {
      // Another process may have made it in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** @returns whether other users had a right */
function narrow(path: string, mode: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & OTHERS) === 0) return false;
  chmodSync(path, mode);
  return true;
}

function statOf(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'permission denied. Give this user the right to write there, or choose another directory.',
  EPERM: 'not permitted. Give this user the right to write there, or choose another directory.',
  ENOTDIR: 'a part of the path is a file. Choose another path.',
  ENOENT: 'it cannot be made there. Choose another path.',
  EROFS: 'the file system is read-only. Choose another directory.',
  ENOSPC: 'the disk is full. Make room, or choose another directory.',
};

function explained<T>(dataDir: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const advice = code === undefined ? undefined : ADVICE[code];
    if (advice === undefined) throw error;
    throw new StartError(`UQRP_DATA_DIR ${dataDir}: ${code}, ${advice}`, { cause: error });
  }
}
