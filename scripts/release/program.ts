/** The npm packages, and a folder with Node and the program for one architecture. */
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packTarGz, run, tidy } from './archive.ts';

/** As Node, Debian and the header of an ELF file name it, and the loader of the GNU C library. */
export interface Architecture {
  readonly node: 'x64' | 'arm64';
  readonly debian: 'amd64' | 'arm64';
  readonly machine: number;
  readonly loader: string;
}

export const ARCHITECTURES: readonly Architecture[] = [
  { node: 'x64', debian: 'amd64', machine: 62, loader: '/lib64/ld-linux-x86-64.so.2' },
  { node: 'arm64', debian: 'arm64', machine: 183, loader: '/lib/ld-linux-aarch64.so.1' },
];

/** Folders for one machine each. */
const PREBUILT = /\/prebuil(?:ds|t)\/[^/]+$/;
const OTHER_BINARY = /\.musl\.node$|\.bare$/;
/** Folders at the top of a package. */
const OF_DEVELOPERS =
  /\/node_modules\/(?:@[^/]+\/)?[^/@]+\/(?:tests?|spec|bench|benchmarks?|integration|examples?|docs|\.[^/]+)$/;
const SOURCE = /\/\.[^/]+$|\.(?:[cm]?ts|map|c|cc|cpp|h|hpp|gyp|flow)$|\.test\.js$/;

/** Octets of the header of an ELF file until its machine. */
const ELF_HEADER = 20;

/** Gives a folder the installed packages of a checkout, as hard links. Without caches: what runs there meanwhile replaces files of them. */
export async function linkPackages(checkout: string, folder: string): Promise<void> {
  const [from, to] = [checkout, folder].map((each) => join(each, 'node_modules')) as [string, string];
  const names = (await readdir(from)).filter((name) => name !== '.cache');
  await mkdir(to);
  await run('cp', ['-al', '-t', to, ...names.map((name) => join(from, name))]);
}

/**
 * Runs `npm pack` and packs the result once more: npm compresses with the zlib of its own Node, which differs between versions and processors.
 * @param folder of a package.json
 * @param work a new folder, in which `package` is the package afterwards
 * @returns the file's name in `target`
 */
export async function npmPackage(
  folder: string,
  work: string,
  target: string,
  epoch: number,
): Promise<string> {
  await mkdir(work);
  const out = await run('npm', ['pack', '--silent', '--pack-destination', work], { cwd: folder });
  const name = out.trim().split('\n').at(-1)!;
  await run('tar', ['-xzf', join(work, name), '-C', work]);
  await tidy(join(work, 'package'), epoch);
  await packTarGz(work, ['package'], join(target, name), epoch);
  return name;
}

/**
 * Makes the folder that archive, Debian package and image have in common: `bin/uqrp`, `lib/node`, `lib/uqrp` with its packages from npm, and `share`.
 * @param source the checkout: npm checks each package against its lock file
 * @param unpacked the package `uqrp` of npm
 */
export async function programFolder(
  source: string,
  unpacked: string,
  target: string,
  architecture: Architecture,
  epoch: number,
): Promise<void> {
  const program = join(target, 'lib/uqrp');
  await mkdir(join(target, 'bin'), { recursive: true });
  await cp(unpacked, program, { recursive: true });
  await addDependencies(source, program, architecture);
  const node = join(program, 'node_modules', `node-linux-${architecture.node}`);
  await rename(join(node, 'bin/node'), join(target, 'lib/node'));
  await rename(join(node, 'LICENSE'), join(target, 'lib/node.LICENSE'));
  await rm(node, { recursive: true });
  await strip(program, architecture);
  await writeFile(join(target, 'bin/uqrp'), launcher(architecture), { mode: 0o755 });
  for (const name of ['LICENSE', 'NOTICE', 'README.md', 'CHANGELOG.md'])
    await cp(join(program, name), join(target, name));
  await addShared(program, join(target, 'share'));
  await tidy(target, epoch);
}

async function addDependencies(source: string, program: string, { node }: Architecture): Promise<void> {
  const work = `${program}.npm`;
  await mkdir(work);
  for (const name of ['package.json', 'package-lock.json']) await cp(join(source, name), join(work, name));
  const machine = ['--os=linux', `--cpu=${node}`, '--libc=glibc'];
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--loglevel=error', ...machine], { cwd: work });
  const modules = join(work, 'node_modules');
  for (const name of ['.bin', '.package-lock.json']) await rm(join(modules, name), { recursive: true });
  await rename(modules, join(program, 'node_modules'));
  await rm(work, { recursive: true });
}

/**
 * Removes binaries for other machines, other C libraries and other programs than Node; and of the packages of npm what only their developers
 * need: tests, types, sources in C. Nothing there is started as a program.
 */
async function strip(folder: string, { node, machine }: Architecture): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const isOfNpm = path.includes('/node_modules/');
    const isUnused = entry.isDirectory()
      ? PREBUILT.test(path)
        ? !path.endsWith(`/linux-${node}`)
        : OF_DEVELOPERS.test(path)
      : OTHER_BINARY.test(path) ||
        (isOfNpm && SOURCE.test(path)) ||
        ![null, machine].includes(await machineOf(path));
    if (isUnused) await rm(path, { recursive: true, force: true });
    else if (isOfNpm && entry.isFile() && existsSync(path)) await chmod(path, 0o644);
  }
}

/** @returns the machine of an ELF file for Linux on little-endian processors; null: it is none */
export async function machineOf(path: string): Promise<number | null> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(ELF_HEADER), 0, ELF_HEADER, 0);
    return bytesRead === ELF_HEADER && buffer.readUInt32BE(0) === 0x7f454c46 ? buffer.readUInt16LE(18) : null;
  } catch (error) {
    // Inside a folder that was removed above.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Without its loader the kernel says of Node that it does not exist, which helps nobody. */
function launcher({ loader }: Architecture): string {
  return `#!/bin/sh
# Starts uqrp with the Node beside it, also through links.
here=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
if [ ! -e ${loader} ]; then
  echo 'uqrp needs a Linux with glibc 2.34 or later, such as Debian 12 or Ubuntu 22.04. musl, as in Alpine, is not supported.' >&2
  exit 1
fi
exec "$here/lib/node" --max-semi-space-size=8 "$here/lib/uqrp/bin/uqrp.js" "$@"
`;
}

/** The manual page and the completions of three shells, where each of them looks for it. */
async function addShared(program: string, share: string): Promise<void> {
  const places = {
    bash: 'bash-completion/completions/uqrp',
    zsh: 'zsh/site-functions/_uqrp',
    fish: 'fish/vendor_completions.d/uqrp.fish',
  };
  for (const [shell, place] of Object.entries(places)) {
    const text = await run(process.execPath, [join(program, 'bin/uqrp.js'), 'completion', shell]);
    await mkdir(join(share, place, '..'), { recursive: true });
    await writeFile(join(share, place), text);
  }
  await mkdir(join(share, 'man/man1'), { recursive: true });
  await writeFile(join(share, 'man/man1/uqrp.1'), await readFile(join(program, 'man/uqrp.1')));
}
