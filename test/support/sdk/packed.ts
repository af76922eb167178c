import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SDK = fileURLToPath(new URL('../../../sdk/', import.meta.url));
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

let built: Promise<string> | null = null;
let packed: Promise<string> | null = null;

/**
 * A folder with the package as it is published: `dist` by tsc, and the files that the tarball has. Built once for each
 * process, and removed at its end.
 */
export function builtPackage(): Promise<string> {
  built ??= build();
  return built;
}

async function build(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'uqrp-sdk-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const target = join(folder, 'package');
  await mkdir(target);
  for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'src']) {
    await cp(join(SDK, name), join(target, name), { recursive: true });
  }
  const tsc = join(MODULES, 'typescript/bin/tsc');
  await run(process.execPath, [
    tsc,
    '-p',
    join(SDK, 'tsconfig.build.json'),
    '--outDir',
    join(target, 'dist'),
  ]);
  return target;
}

/** The tarball that `npm publish` would send. */
export function tarball(): Promise<string> {
  packed ??= pack();
  return packed;
}

async function pack(): Promise<string> {
  const folder = await builtPackage();
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: folder });
  const [made] = JSON.parse(stdout) as readonly { filename: string }[];
  if (made === undefined) throw new Error('npm pack made nothing');
  return join(folder, made.filename);
}

/** A folder of ES modules in which the tarball and the named packages are installed. */
export async function installed(folder: string, packages: readonly string[]): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'uqrp-sdk'), { recursive: true });
  const file = await tarball();
  await run('tar', ['-xzf', file, '-C', join(modules, 'uqrp-sdk'), '--strip-components=1']);
  for (const name of packages) {
    const at = join(modules, name);
    await mkdir(join(at, '..'), { recursive: true });
    await symlink(join(MODULES, name), at, 'junction');
  }
}
