import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start, stop } from './process.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

export interface UqrpPorts {
  readonly http: number;
  /** Null unless UQRP_METRICS is set. */
  readonly metrics: number | null;
  readonly dns: number;
  readonly dot: number;
  readonly doh: number;
}

export interface Uqrp {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly dataDir: string;
  readonly ports: UqrpPorts;
  /** Runs a CLI command on the same data. @returns its standard output */
  cli(args: readonly string[], input?: string): string;
  stop(): Promise<void>;
  /** Stops the server and removes its data. */
  remove(): Promise<void>;
}

/** Options of Node in `npm start` of a checkout, whose `src/cli.ts` is `cli`. */
export function nodeOptions(cli: string = CLI): readonly string[] {
  const manifest = readFileSync(join(dirname(cli), '../package.json'), 'utf8');
  const { scripts } = JSON.parse(manifest) as { scripts: { start: string } };
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}

/** Starts the server on free ports with a new data directory, as `npm start` does. `cli`: the program of `Uqrp.cli`, of the same checkout as `program`. */
export async function startUqrp(
  env: NodeJS.ProcessEnv = {},
  dataDir?: string,
  options: readonly string[] = [],
  program = [CLI, 'serve', '--json'],
  cli = CLI,
): Promise<Uqrp> {
  const dir = dataDir ?? mkdtempSync(join(tmpdir(), 'uqrp-test-'));
  const all = {
    UQRP_DATA_DIR: dir,
    UQRP_HTTP_PORT: '0',
    UQRP_DNS_PORT: '0',
    UQRP_DOT_PORT: '0',
    UQRP_DOH_PORT: '0',
    UQRP_REST_RATE: 'off',
    UQRP_DNS_RATE: '0',
    ...env,
  };
  const child = start(process.execPath, [...nodeOptions(cli), ...program, ...options], all);
  const ports = await readPorts(child);
  return {
    child,
    pid: child.pid!,
    dataDir: dir,
    ports,
    cli: (args, input) =>
      execFileSync(process.execPath, [cli, ...args], {
        env: { ...process.env, ...all },
        encoding: 'utf8',
        maxBuffer: 1 << 30,
        ...(input === undefined ? {} : { input }),
      }),
    stop: () => stop(child),
    async remove() {
      await stop(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The first line of `serve --json`: an object with the ports, printed when everything listens. */
function readPorts(child: ChildProcess): Promise<UqrpPorts> {
  return new Promise((resolve, reject) => {
    let text = '';
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      if (errors.length < 10_000) errors += chunk.toString();
    });
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf('\n');
      if (end < 0) return;
      const { ports } = JSON.parse(text.slice(0, end)) as { ports: UqrpPorts };
      resolve(ports);
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
  });
}

export interface Account {
  readonly token: string;
  readonly base: string;
  /** Rejects with a TypeError when the server does not answer. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  /** The same customer at another base URL. */
  at(base: string): Account;
}

/** Makes a customer. @returns a client of the API with its credential */
export function account(server: Uqrp, email = 'test@example.net', tier = 'enterprise'): Account {
  server.cli(['user', 'create', email, '--tier', tier]);
  const token = server.cli(['user', 'token', email]).trim();
  return accountAt(`http://127.0.0.1:${server.ports.http}/api/v1`, token);
}

function accountAt(base: string, token: string): Account {
  return {
    token,
    base,
    at: (other) => accountAt(other, token),
    async call(method, path, body) {
      const response = await fetch(base + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
  };
}

/** Writes records in bulk requests of 500. */
export async function writeRecords(
  as: Account,
  records: Iterable<{ key: string; data: string; content_type?: string }>,
): Promise<void> {
  let batch: unknown[] = [];
  const flush = async (): Promise<void> => {
    const { status, body } = await as.call('POST', '/records/bulk', { records: batch });
    if (status !== 200 && status !== 201) throw new Error(`bulk write: ${status} ${JSON.stringify(body)}`);
    batch = [];
  };
  for (const record of records) {
    batch.push(record);
    if (batch.length === 500) await flush();
  }
  if (batch.length > 0) await flush();
}
