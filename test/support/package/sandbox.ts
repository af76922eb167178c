/** Programs run in a folder of their own, as a user without rights when the test runs as root, and see nothing of the checkout. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** nobody and nogroup of Debian. */
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
const NETWORK = /^(?:node_extra_ca_certs|ssl_cert_(?:file|dir)|https?_proxy|no_proxy|npm_config_registry)$/i;
/** Milliseconds for one command; the longest installs the package. */
const COMMAND_MS = 150_000;

export interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

export interface Sandbox {
  /** Readable by everyone. */
  readonly folder: string;
  /** A new folder of the user. */
  home(name: string): string;
  /** Runs a program of `bin` (a folder with `node`) in `cwd` to its end. */
  run(bin: string, cwd: string, command: readonly string[], env?: NodeJS.ProcessEnv): Result;
  start(bin: string, cwd: string, command: readonly string[], env: NodeJS.ProcessEnv): ChildProcess;
  /** npm's own program, for `node`. */
  readonly npm: string;
}

export function makeSandbox(): Sandbox {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-installed-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  // The npm of the system may lie where only root reads.
  const npm = join(folder, 'npm');
  const program = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
  cpSync(dirname(dirname(program)), npm, { recursive: true });
  const cache = homeOf(join(folder, 'cache'));
  // Registry and certificates of the system's npm, which a copy of it does not find.
  const globalconfig = execFileSync('npm', ['config', 'get', 'globalconfig'], { encoding: 'utf8' }).trim();
  const network = Object.entries(process.env).filter(([name]) => NETWORK.test(name));

  const spawned = (bin: string, cwd: string, command: readonly string[], env: NodeJS.ProcessEnv) => ({
    line: IS_ROOT
      ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...command]
      : command,
    options: {
      cwd,
      env: {
        PATH: `${bin}:/usr/bin:/bin`,
        HOME: cwd,
        ...Object.fromEntries(network),
        npm_config_cache: cache,
        npm_config_globalconfig: globalconfig,
        LANG: 'C.UTF-8',
        ...env,
      },
    },
  });
  return {
    folder,
    npm: join(npm, 'bin/npm-cli.js'),
    home: (name) => homeOf(join(folder, name)),
    run(bin, cwd, command, env = {}) {
      const { line, options } = spawned(bin, cwd, command, env);
      const [program, ...args] = line;
      const done = spawnSync(program!, args, {
        ...options,
        encoding: 'utf8',
        timeout: COMMAND_MS,
        killSignal: 'SIGKILL',
      });
      if (done.error !== undefined) throw done.error;
      return { code: done.status, out: done.stdout, errors: done.stderr };
    },
    start(bin, cwd, command, env) {
      const { line, options } = spawned(bin, cwd, command, env);
      const [program, ...args] = line;
      return spawn(program!, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    },
  };
}

function homeOf(folder: string): string {
  mkdirSync(folder);
  if (IS_ROOT) chownSync(folder, NOBODY, NOBODY);
  return folder;
}

/** A copy of the files that git tracks, without tests and benchmarks. */
export function copyCheckout(folder: string): void {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of tracked) {
    if (file !== '' && !/^(?:test|bench)\//.test(file)) cpSync(join(ROOT, file), join(folder, file));
  }
}

/** Megabytes (10^6 octets) of the blocks that a folder takes on the disk. */
export function megabytesOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const octets = entries.reduce((sum, name) => sum + lstatSync(join(folder, name)).blocks * 512, 0);
  return Math.ceil(octets / 1e6);
}
