/** Archives that are the same octets whenever, wherever and by whomever they are made from the same files. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, lstat, lutimes, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const executed = promisify(execFile);
const OUTPUT_MAX = 64 * 1024 * 1024;
/** The order of names must not depend on a language. */
const PLAIN = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };

export interface Packed {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** Of the archive before it was compressed: the `diff_id` of a layer. */
  readonly tarSha256: string;
}

/** Runs a program to its end. @returns its standard output @throws Error with what it wrote */
export async function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    const env = { ...PLAIN, ...options.env };
    const { stdout } = await executed(program, args, { ...options, env, maxBuffer: OUTPUT_MAX });
    return stdout;
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (code === 'ENOENT') throw new Error(`${program} is not installed`, { cause: error });
    throw new Error(`${program} ${args.join(' ')}: ${String(code)}\n${stdout}${stderr}`, { cause: error });
  }
}

/** Gives everything below a folder the mode 755 or 644 and the time `epoch`, in seconds: whatever the umask and the clock were. */
export async function tidy(folder: string, epoch: number): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  for (const path of [...entries.map((name) => join(folder, name)), folder]) {
    const found = await lstat(path);
    if (!found.isSymbolicLink())
      await chmod(path, found.isDirectory() || (found.mode & 0o111) !== 0 ? 0o755 : 0o644);
    await lutimes(path, epoch, epoch);
  }
}

/**
 * Writes a .tar.gz of files of a folder: sorted by name, of one owner and one time, and no name or time in the header of gzip.
 * @param names relative to `folder`; a folder stands for all that it has
 * @param owner number of user and group
 */
export async function packTarGz(
  folder: string,
  names: readonly string[],
  path: string,
  epoch: number,
  owner = 0,
): Promise<Packed> {
  const tar = spawn('tar', [...tarOptions(epoch, owner), '-C', folder, '-cf', '-', ...names], {
    env: PLAIN,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gzip = spawn('gzip', ['-n', '-6'], { env: PLAIN, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = [tar, gzip].map(
    (child) =>
      new Promise<void>((done, failed) => {
        child.once('error', failed);
        child.once('close', (code) =>
          code === 0 ? done() : failed(new Error(`${child.spawnfile}: ${String(code)}`)),
        );
      }),
  );
  const [plain, packed] = [createHash('sha256'), createHash('sha256')];
  await Promise.all([
    pipeline(tar.stdout, hashing(plain), gzip.stdin),
    pipeline(gzip.stdout, hashing(packed), createWriteStream(path)),
    ...ended,
  ]);
  const { size } = await stat(path);
  return { path, size, sha256: packed.digest('hex'), tarSha256: plain.digest('hex') };
}

/** Writes a .tar of all that a folder has. */
export async function packTar(folder: string, path: string, epoch: number): Promise<void> {
  const names = (await readdir(folder)).toSorted();
  await run('tar', [...tarOptions(epoch, 0), '-C', folder, '-cf', path, ...names]);
}

function tarOptions(epoch: number, owner: number): string[] {
  return [
    ...['--sort=name', '--format=gnu', '--numeric-owner', '--hard-dereference'],
    ...[`--owner=${owner}`, `--group=${owner}`, `--mtime=@${epoch}`],
  ];
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function hashing(hash: ReturnType<typeof createHash>): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}
