import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ready, run } from './postgres.ts';
import { makePostgresFiles, type PostgresFiles, removePostgresFiles } from './postgres-files.ts';

/** A server of its own, which a script may kill and start again. */
export interface PostgresProcess {
  readonly url: string;
  /** Of its socket. */
  readonly dir: string;
  /** Runs one statement outside the store. */
  query(sql: string): Promise<unknown[]>;
  /** SIGKILL of the server's main process; its other processes end by themselves. */
  kill(): Promise<void>;
  /** On the same files. Resolves when it answers: it has recovered. */
  start(): Promise<void>;
  /** Kills it and removes its files. */
  remove(): Promise<void>;
}

/** After SIGKILL the shared memory is in use until the last of its processes has noticed. */
const RETRY_MS = 100;

export interface PostgresPair {
  readonly primary: PostgresProcess;
  readonly standby: PostgresProcess;
  /** Leads to the primary, and after `promote` to the standby. */
  readonly url: string;
  /** Resolves when the standby has everything, and no more comes to it. */
  cut(): Promise<void>;
  /** The address leads to the standby at once, which takes writes `afterMs` later. Resolves then. */
  promote(afterMs: number): Promise<void>;
  remove(): Promise<void>;
}

/** A primary and a standby that follows it asynchronously. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const first = makePostgresFiles();
  const second = makePostgresFiles(first);
  writeFileSync(join(second.data, 'standby.signal'), '');
  const primary = await startPostgres(first);
  appendFileSync(
    join(second.data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=${first.dir} user=uqrp'\n`,
  );
  const standby = await startPostgres(second);
  const link = mkdtempSync(join(tmpdir(), 'uqrp-pg-'));
  chmodSync(link, 0o755);
  const address = join(link, 'now');
  symlinkSync(first.dir, address);
  const place = async (sql: string, server: PostgresProcess): Promise<string> =>
    ((await server.query(sql)) as { lsn: string }[])[0]!.lsn;
  return {
    primary,
    standby,
    url: first.url('postgres').replace(encodeURIComponent(first.dir), encodeURIComponent(address)),
    async cut() {
      const end = await place('select pg_current_wal_flush_lsn() as lsn', primary);
      const isThere = `select (pg_last_wal_replay_lsn() >= '${end}')::text as lsn`;
      while ((await place(isThere, standby)) !== 'true') await sleep(RETRY_MS);
      await standby.query("alter system set primary_conninfo = ''");
      await standby.query('select pg_reload_conf()');
      while ((await standby.query('select pid from pg_stat_wal_receiver')).length > 0) await sleep(RETRY_MS);
    },
    async promote(afterMs) {
      symlinkSync(second.dir, `${address}.next`);
      renameSync(`${address}.next`, address);
      await sleep(afterMs);
      await standby.query('select pg_promote()');
    },
    async remove() {
      await primary.remove();
      await standby.remove();
      rmSync(link, { recursive: true, force: true });
    },
  };
}

export async function startPostgres(files: PostgresFiles = makePostgresFiles()): Promise<PostgresProcess> {
  const { dir, identity, command, log, url: urlOf } = files;
  const url = urlOf('postgres');
  let server: ChildProcess | null = null;
  const [program = '', ...options] = command;

  async function start(): Promise<void> {
    for (;;) {
      const output = openSync(log, 'a');
      const child = spawn(program, options, { ...identity, cwd: dir, stdio: ['ignore', output, output] });
      closeSync(output);
      server = child;
      const ended = once(child, 'exit').then(() => false);
      const isUp = ready(child, url, log).then(
        () => true,
        () => false,
      );
      if (await Promise.race([isUp, ended])) return;
      await sleep(RETRY_MS);
    }
  }

  async function kill(): Promise<void> {
    const child = server;
    server = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  await start();
  return {
    url,
    dir,
    query: (sql) => run(url, sql),
    kill,
    start,
    async remove() {
      await kill();
      removePostgresFiles(files);
    },
  };
}
