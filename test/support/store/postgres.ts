import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { openStore } from '../../../src/store/open.ts';
import type { TestDatabase } from './fixtures.ts';
import { makePostgresFiles } from './postgres-files.ts';

const START_MS = 60_000;

/**
 * Runs the server until the test process goes away, however it does: its end of the pipe is then closed. Arguments:
 * the two directories to remove, then the command.
 */
const GUARD =
  'trap "" INT TERM HUP; dir=$1 data=$2; shift 2; "$@" & pid=$!; read _; kill -INT $pid; wait $pid; cd /; rm -rf "$dir" "$data"';

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
let withTables: Promise<string> | null = null;
let databases = 0;

// Registered on import, so that it belongs to the whole run and not to the test that happens to come first.
after(async () => {
  const server = await shared?.catch(() => null);
  shared = null;
  withTables = null;
  await server?.stop();
});

/**
 * How a database sorts text. `language`: by rules that pass over punctuation, as those of en_US.UTF-8 do, so that `web1` comes
 * before `web-a`; the bytes say otherwise.
 */
export type TextOrder = 'bytes' | 'language';

const LANGUAGE_ORDER = "template template0 locale_provider icu icu_locale 'en-US-u-ka-shifted'";

/** Makes an empty database; starts the server if it is the first. */
export function postgresDatabase(order: TextOrder = 'bytes'): Promise<PostgresDatabase> {
  return create(order === 'language' ? LANGUAGE_ORDER : '');
}

/** Makes an empty database with an encoding of text of its own. */
export function encodedDatabase(encoding: 'UTF8' | 'SQL_ASCII' | 'LATIN1'): Promise<PostgresDatabase> {
  return create(`template template0 encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`);
}

/** Makes a database that has its tables: a copy of the first one, with an epoch of its own. It takes a seventh of the time of an empty one and its migrations. */
export async function databaseWithTables(): Promise<TestDatabase> {
  withTables ??= migrated();
  const database = await create(`template ${await withTables} strategy file_copy`);
  await database.query("update service_facts set value = gen_random_uuid() where name = 'epoch'");
  return {
    open: (clock = Date.now) => openStore({ dataDir: '', databaseUrl: database.url, clock }),
    drop: () => database.drop(),
  };
}

/** @returns the name of a database that has its tables, and to which nobody is connected */
async function migrated(): Promise<string> {
  const { name, url } = await create('');
  const store = await openStore({ dataDir: '', databaseUrl: url, clock: Date.now });
  await store.close();
  // A copy would be taken for a database that went on elsewhere, and get a later epoch (src/store/postgres/failover.ts).
  await run(url, "delete from service_facts where name = 'server'");
  return name;
}

async function create(how: string): Promise<PostgresDatabase & { readonly name: string }> {
  shared ??= start();
  const server = await shared;
  const name = `test_${++databases}`;
  await run(server.url('postgres'), `create database ${name} ${how}`);
  const url = server.url(name);
  return {
    name,
    url,
    query: (sql) => run(url, sql),
    drop: async () => {
      await run(server.url('postgres'), `drop database ${name} with (force)`);
    },
  };
}

async function start(): Promise<Server> {
  const { dir, data, identity, command, log, url } = makePostgresFiles();
  const output = openSync(log, 'a');
  const child = spawn('sh', ['-c', GUARD, 'guard', dir, data, ...command], {
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
