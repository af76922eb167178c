import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../free-port.ts';

/** Debian's place first: it is not on the path of every user. */
const BINARIES = ['/usr/sbin/nats-server', 'nats-server'];

function binary(): string | null {
  return BINARIES.find((name) => spawnSync(name, ['--version']).status === 0) ?? null;
}

/** Why no broker can be started here, or null. */
export function natsMissing(): string | null {
  return binary() === null ? 'nats-server is missing (Debian: apt-get install nats-server)' : null;
}

export interface NatsServer {
  /** `host:port`. */
  readonly address: string;
  readonly dir: string;
  /** Process id. */
  readonly pid: number;
  /** SIGKILL: nothing is flushed. */
  kill(): Promise<void>;
  /** On the same port and directory. Resolves when the server is ready. */
  start(): Promise<void>;
  /** Reads its configuration again. */
  reload(): Promise<void>;
  /** Kills it and removes its directory. */
  remove(): Promise<void>;
}

/** @param config more lines of its configuration, from its directory */
export async function startNats(config: (dir: string) => string = () => ''): Promise<NatsServer> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-nats-'));
  const port = await freePort();
  const file = join(dir, 'nats-server.conf');
  const common = `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${dir}/store", max_file_store: 256MB }\n`;
  writeFileSync(file, common + config(dir));
  return runNats(file, `127.0.0.1:${port}`, dir);
}

/** @param address that the configuration has. @param dir is removed with the server */
export async function runNats(file: string, address: string, dir: string): Promise<NatsServer> {
  const command = binary();
  if (command === null) throw new Error(natsMissing() ?? '');
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const started = spawn(command ?? '', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    const said = await lines(started, 'Server is ready', 'exited');
    if (!said.includes('Server is ready')) throw new Error(`nats-server did not start: ${said}`);
  }
  async function kill(): Promise<void> {
    const dying = child;
    child = null;
    if (dying === null || dying.exitCode !== null || dying.signalCode !== null) return;
    const gone = once(dying, 'exit');
    dying.kill('SIGKILL');
    await gone;
  }

  await start();
  return {
    address,
    dir,
    get pid() {
      return child?.pid ?? -1;
    },
    kill,
    start,
    async reload() {
      const reloaded = lines(child!, 'Reloaded server configuration', 'exited');
      child!.kill('SIGHUP');
      await reloaded;
    },
    async remove() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** What the server writes, until it has written the text or has ended. */
function lines(child: ChildProcess, text: string, atExit: string): Promise<string> {
  return new Promise((resolve) => {
    let all = '';
    const stream = child.stderr!;
    const done = (): void => {
      stream.off('data', read);
      child.off('exit', ended);
      // The pipe must be read, else the server blocks.
      stream.resume();
      resolve(all);
    };
    const read = (chunk: Buffer): void => {
      all += chunk.toString();
      if (all.includes(text)) done();
    };
    const ended = (): void => {
      all += atExit;
      done();
    };
    stream.on('data', read);
    child.once('exit', ended);
  });
}
