import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { makePostgresFiles, ready, run } from './postgres.ts';

/** A server of its own, which a script may kill and start again. */
export interface PostgresProcess {
  readonly url: string;
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

export async function startPostgres(): Promise<PostgresProcess> {
  const { dir, identity, command, log, url: urlOf } = makePostgresFiles();
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
    query: (sql) => run(url, sql),
    kill,
    start,
    async remove() {
      await kill();
      // Its other processes may still write.
      rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
