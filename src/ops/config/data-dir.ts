import { hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import { realRandom } from '../../base/chance.ts';
import {
  createFileSync,
  type FileFacts,
  type Files,
  makeFolderSync,
  readIfThere,
  systemFiles,
} from '../../base/files.ts';
import { ConfigError, StartError } from './config.ts';

const OTHERS = 0o077;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** Directories inside the data directory that the server enters. */
const INNER = ['keys', 'tls'];
/** Exists from before the first file of a restore until after the last one. */
export const UNFINISHED_RESTORE = 'restore-unfinished';

interface PreparedDataDir {
  /** Number of files and directories that other users could read or write before. */
  readonly narrowed: number;
}

/**
 * Makes the data directory when it is missing, and removes every right of other users from it and its files.
 * @throws StartError when it cannot be made or used, or belongs to another user
 */
export function prepareDataDir(dataDir: string): PreparedDataDir {
  return explained(dataDir, () => {
    const found = systemFiles.facts(dataDir);
    if (found === null) makeFolderSync(dataDir, DIRECTORY_MODE);
    else checkDirectory(dataDir, found);
    const inner = INNER.map((name) => join(dataDir, name)).filter(
      (path) => systemFiles.facts(path)?.kind === 'folder',
    );
    const directories = [dataDir, ...inner];
    const files = directories
      .flatMap((directory) => systemFiles.list(directory).map((name) => join(directory, name)))
      .filter((path) => systemFiles.facts(path, 'link')?.kind === 'file');
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
    const found = systemFiles.facts(dataDir);
    if (found === null) {
      throw new StartError(
        `UQRP_DATA_DIR ${dataDir} does not exist. Set UQRP_DATA_DIR as for the server, or start the server first.`,
      );
    }
    checkDirectory(dataDir, found);
  });
}

function checkDirectory(path: string, found: FileFacts): void {
  if (found.kind !== 'folder')
    throw new StartError(`UQRP_DATA_DIR ${path} is not a directory. Choose another path.`);
  const user = process.getuid?.();
  if (user !== undefined && found.owner !== user) {
    throw new StartError(
      `UQRP_DATA_DIR ${path} belongs to user ${found.owner}, and this process runs as user ${user}. Run it as that user (where the Debian package is installed: sudo uqrp-admin COMMAND), or choose another directory.`,
    );
  }
  if (systemFiles.facts(join(path, UNFINISHED_RESTORE)) !== null) {
    throw new StartError(
      `UQRP_DATA_DIR ${path}: a restore into it did not finish. Run uqrp restore again with the same directory, or empty it.`,
    );
  }
}

/** @returns whether other users had a right */
function narrow(path: string, mode: number): boolean {
  const found = systemFiles.facts(path, 'link');
  if (found === null || (found.mode & OTHERS) === 0) return false;
  systemFiles.setMode(path, mode);
  return true;
}

const ADVICE: Readonly<Record<string, string>> = {
  EACCES:
    'permission denied. Run it as the user of the server (where the Debian package is installed: sudo uqrp-admin COMMAND), or give this user the right to write there.',
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

const FILE = 'secret';
const FINGERPRINT_OCTETS = 16;
const FORM = /^[0-9a-f]{64}\n?$/;

/** Keys are derived from this text of UQRP_SECRET or of the file. Either can be copied into the other. */
export type Secret = Uint8Array;

/**
 * Returns UQRP_SECRET, else the text of `<dataDir>/secret`. A missing file is made: 32 random octets in hexadecimal.
 * Processes that start together read the same file.
 * @param create false: a missing file is a fault, because a new secret would not be the server's
 * @throws ConfigError when the file has no valid secret
 */
export function loadSecret(
  dataDir: string,
  fromEnv: string | null,
  create = true,
  files: Files = systemFiles,
): Secret {
  if (fromEnv !== null) return Buffer.from(fromEnv, 'utf8');
  const path = join(dataDir, FILE);
  const found = readIfThere(path, files);
  if (found === null && !create) {
    throw new StartError(
      `UQRP_SECRET is not set, and there is no ${path}. Put this file back, or set UQRP_SECRET to its text.`,
    );
  }
  const held = found ?? makeSecret(dataDir, path, files);
  if (!FORM.test(held)) {
    throw new ConfigError([
      `the file secret in UQRP_DATA_DIR must hold 64 hex letters: put it back from a backup. With another one no token is valid`,
    ]);
  }
  return Buffer.from(held.trimEnd(), 'utf8');
}

/** HKDF-SHA256 (RFC 5869): the key of one label reveals nothing about another. @param length octets, at most 8,160 */
export function deriveKey(secret: Secret, label: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `uqrp/${label}`, length));
}

/** Identifies a secret and does not reveal it. It is stored in the database. */
export function secretFingerprint(secret: Secret): string {
  return deriveKey(secret, 'fingerprint', FINGERPRINT_OCTETS).toString('hex');
}

/** On disk before it is used: data may be encrypted under it before the next sync. */
function makeSecret(dataDir: string, path: string, files: Files): string {
  makeFolderSync(dataDir, DIRECTORY_MODE, files);
  return createFileSync(path, `${Buffer.from(realRandom(32)).toString('hex')}\n`, FILE_MODE, files);
}
