/**
 * `npm run release`: builds everything that a release consists of from the commit of this checkout, into `release/`, and prints a table.
 *
 *   npm run release -- --out DIR        another folder
 *   npm run release -- --arch x64       for one architecture
 *
 * Variables: UQRP_RELEASE_KEY (a private key of OpenSSH, signs SHA256SUMS), UQRP_RELEASE_SNAPSHOT (the state of Debian's archive that the image is
 * made from). docs/RELEASING.md has the rest.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packTarGz, run, sha256Of } from './archive.ts';
import { debianPackage } from './debian.ts';
import { baseSystems, imageLayout } from './image.ts';
import { ARCHITECTURES, linkPackages, npmPackage, programFolder } from './program.ts';
import { materials } from './sbom.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SUMS = 'SHA256SUMS';
/** What a signature is for: one of something else by the same key does not fit. */
const NAMESPACE = 'uqrp-release';

const { values } = parseArgs({
  options: { out: { type: 'string', default: join(ROOT, 'release') }, arch: { type: 'string' } },
});
const wanted = ARCHITECTURES.filter(({ node }) => values.arch === undefined || node === values.arch);
if (wanted.length === 0) throw new Error(`--arch is one of ${ARCHITECTURES.map(({ node }) => node).join()}`);
const began = Date.now();
const out = resolve(values.out);
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
// Inside of the checkout: hard links of node_modules need one file system, and ones below node_modules would not run.
const work = await mkdtemp(join(ROOT, '.release-'));
process.umask(0o022);
try {
  await release();
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${(error as Error).message}\n`);
} finally {
  await rm(work, { recursive: true, force: true });
}

async function release(): Promise<void> {
  const commit = (await run('git', ['rev-parse', 'HEAD'], { cwd: ROOT })).trim();
  const committed = (await run('git', ['log', '-1', '--format=%ct'], { cwd: ROOT })).trim();
  const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? committed);
  const changed = (await run('git', ['status', '--porcelain'], { cwd: ROOT })).split('\n').length - 1;
  tell(`commit ${commit}${changed === 0 ? '' : `; ${changed} files that are not committed are not in it`}`);

  const source = await exportCommit(commit);
  const name = await npmPackage(source, join(work, 'npm'), out, epoch);
  const unpacked = join(work, 'npm/package');
  const { version } = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8')) as {
    version: string;
  };
  await npmPackage(join(source, 'sdk'), join(work, 'sdk'), out, epoch);
  tell(`npm packages: ${name} and the SDK`);

  const programs = await Promise.all(
    wanted.map(async (architecture) => {
      const folder = join(work, `uqrp-${version}-linux-${architecture.node}`);
      await programFolder(source, unpacked, folder, architecture, epoch);
      return { architecture, folder };
    }),
  );
  const base = await baseSystems(join(work, 'base'), wanted, epoch);
  tell('programs and base systems');

  await Promise.all(
    programs.map(async ({ architecture, folder }) => {
      const file = `uqrp-${version}-linux-${architecture.node}`;
      await packTarGz(work, [file], join(out, `${file}.tar.gz`), epoch);
      await debianPackage(folder, source, join(work, `deb-${architecture.node}`), out, architecture, epoch);
    }),
  );
  tell('archives and Debian packages');
  await imageLayout(programs, base, source, join(work, 'oci'), join(out, `uqrp-${version}-oci.tar`), {
    commit,
    epoch,
    version,
  });
  await writeFile(
    join(out, `uqrp-${version}.cyclonedx.json`),
    await materials(source, base, { commit, epoch, version }),
  );
  tell('image and list of materials');
  await sumUp();
}

/** The files of the commit, with the installed packages of this checkout, which must be those of its lock file. */
async function exportCommit(commit: string): Promise<string> {
  const source = join(work, 'source');
  await mkdir(join(source, '.git'), { recursive: true });
  await writeFile(join(source, '.git/HEAD'), `${commit}\n`);
  await run('git', ['archive', '--format=tar', '-o', join(work, 'source.tar'), commit], { cwd: ROOT });
  await run('tar', ['-xf', join(work, 'source.tar'), '-C', source]);
  const [locked, installed] = await Promise.all(
    [join(source, 'package-lock.json'), join(ROOT, 'node_modules/.package-lock.json')].map(
      async (path) => (JSON.parse(await readFile(path, 'utf8')) as Lock).packages,
    ),
  );
  const others = Object.entries(installed!).filter(
    ([path, { integrity }]) => locked![path]?.integrity !== integrity,
  );
  if (others.length > 0) throw new Error(`not as in package-lock.json, run npm ci: ${others[0]![0]}`);
  await linkPackages(ROOT, source);
  return source;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
}

/** Writes the sums, signs them when there is a key, and prints the table. */
async function sumUp(): Promise<void> {
  const rows: string[][] = [];
  const names = (await readdir(out)).toSorted();
  for (const name of names) {
    const path = join(out, name);
    rows.push([name, `${((await stat(path)).size / 1e6).toFixed(1)} MB`, await sha256Of(path)]);
  }
  await writeFile(join(out, SUMS), rows.map(([name, , sum]) => `${sum}  ${name}\n`).join(''));
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const [name, size, sum] of rows)
    process.stdout.write(`${name!.padEnd(widths[0]!)}  ${size!.padStart(widths[1]!)}  ${sum}\n`);
  const key = process.env.UQRP_RELEASE_KEY ?? '';
  if (key === '') {
    tell(`not signed: UQRP_RELEASE_KEY names no key`);
  } else {
    await run('ssh-keygen', ['-q', '-Y', 'sign', '-f', resolve(key), '-n', NAMESPACE, join(out, SUMS)]);
    tell(`signed: ${SUMS}.sig`);
  }
}

function tell(text: string): void {
  process.stdout.write(`${String(Math.round((Date.now() - began) / 1000)).padStart(4)} s  ${text}\n`);
}
