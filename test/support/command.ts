import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly errors: string;
}

/** Free ports, and the given data directory. */
export function settingsFor(dataDir: string): NodeJS.ProcessEnv {
  return {
    UQRP_DATA_DIR: dataDir,
    UQRP_HTTP_PORT: '0',
    UQRP_DNS_PORT: '0',
    UQRP_DOT_PORT: '0',
    UQRP_DOH_PORT: '0',
    UQRP_WORKERS: '1',
  };
}

/** Starts a program with the environment of the test and `env`. */
export function startCommand(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(program, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** The output of a process, after it has ended. */
export async function ended(child: ChildProcess): Promise<Ended> {
  let out = '';
  let errors = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, out, errors };
}

/** Runs `uqrp ARGS` to its end, at most 30 seconds. */
export async function runCli(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<Ended> {
  const child = startCommand(process.execPath, [CLI, ...args], env);
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  try {
    return await ended(child);
  } finally {
    clearTimeout(timer);
  }
}
