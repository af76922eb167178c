/**
 * Builds the release of this checkout's commit twice, in two folders and under two umasks, languages and time zones, and compares. Then installs each file as its
 * users do, apart from the machine, and writes and reads a record with it. Exits 1 at the first fault. What needs root or a program that is
 * missing says so.
 *
 *   node test/ci/release.ts [DIR]       a release that is there, in place of a new one
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { linkPackages } from '../../scripts/release/program.ts';
import { earlierPackage, tryDebianPackage } from '../support/release/debian-package.ts';
import { type Running, type Service, startService } from '../support/release/main-job.ts';
import { tryNpmPackages } from '../support/release/npm-packages.ts';
import { enterPlace, type Place, placeMissing } from '../support/release/place.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const began = Date.now();
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
/** An earlier release, for the upgrade: the same files under a lower number. */
const EARLIER = '0.1.9';
/** What CycloneDX publishes for its format, and what it needs to check one. */
const VALIDATOR = [
  '@cyclonedx/cyclonedx-library@10.3.0',
  ...['ajv@8.20.0', 'ajv-formats@3.0.1', 'ajv-formats-draft2019@1.6.1'],
];
const NOBODY = '65534:65534';
const PORTS = { http: 8080, dns: 5300 };
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

// Inside of the checkout: its packages are linked into the second build.
const work = mkdtempSync(join(ROOT, '.release-test-'));
const out = process.argv[2] ?? join(work, 'first');
try {
  await main();
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function main(): Promise<void> {
  if (process.argv[2] === undefined) await buildTwice();
  checkSums();
  await checkMaterials();
  checkMachines('x64', 'X86-64');
  checkMachines('arm64', 'AArch64');
  lint();
  await tryNpm();
  const missing = placeMissing();
  if (missing !== null) {
    tell(`skipped: archives, Debian packages and the image are not run: ${missing}`);
    return;
  }
  const folder = join(work, 'place');
  mkdirSync(folder);
  const place = await enterPlace(folder, null);
  try {
    await tryArchive(place);
    await tryDebian(place);
  } finally {
    await place.leave();
  }
  await tryImage();
}

async function buildTwice(): Promise<void> {
  const clone = join(work, 'clone');
  await run('git', ['-c', 'safe.directory=*', 'clone', '--quiet', ROOT, clone]);
  await linkPackages(ROOT, clone);
  const key = join(work, 'key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'uqrp-release', '-f', key]);
  const command = ['run', '--silent', 'release', '--', '--out'];
  await run('npm', [...command, out], { cwd: ROOT, env: { ...process.env, UQRP_RELEASE_KEY: key } });
  tell('built');
  const other = { TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8', HOME: work, UQRP_RELEASE_KEY: '' };
  // A cache of its own would get all packages once more.
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  const line = `umask 077; exec npm ${command.join(' ')} ../second --arch x64`;
  await run('sh', ['-c', line], { cwd: clone, env: { ...process.env, ...other, npm_config_cache: cache } });
  const [first, second] = [sumsOf(out), sumsOf(join(work, 'second'))];
  let equal = 0;
  for (const [name, sum] of second) {
    // An image and a list for one architecture are others.
    if (/oci|cyclonedx/.test(name)) continue;
    assert.equal(sum, first.get(name), `${name} differs between two builds`);
    equal++;
  }
  assert.equal(equal, 4);
  const blobs = (image: string): string[] =>
    execFileSync('tar', ['-tf', image], { encoding: 'utf8' })
      .split('\n')
      .filter((name) => name.includes('/sha256/'));
  const layers = new Set(blobs(join(out, `uqrp-${version}-oci.tar`)));
  const others = blobs(join(work, 'second', `uqrp-${version}-oci.tar`)).filter((name) => !layers.has(name));
  // The index alone, which names one architecture in place of two.
  assert.deepEqual([others.length, others.filter((name) => !name.endsWith('/')).length], [1, 1]);
  tell('built again, elsewhere: the same octets');
  const signers = join(work, 'signers');
  writeFileSync(signers, `uqrp-release ${readFileSync(`${key}.pub`, 'utf8')}`);
  const verified = (sums: Buffer): number | null =>
    spawnSync(
      'ssh-keygen',
      [
        '-Y',
        'verify',
        '-f',
        signers,
        '-I',
        'uqrp-release',
        '-n',
        'uqrp-release',
        '-s',
        join(out, 'SHA256SUMS.sig'),
      ],
      { input: sums },
    ).status;
  const sums = readFileSync(join(out, 'SHA256SUMS'));
  assert.equal(verified(sums), 0);
  sums[0]! ^= 1;
  assert.notEqual(verified(sums), 0, 'a changed sum has the same signature');
  tell('signed, and verified by ssh-keygen');
}

function sumsOf(folder: string): Map<string, string> {
  const lines = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

function checkSums(): void {
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: out });
  const names = readdirSync(out).filter((name) => !name.startsWith('SHA256SUMS'));
  assert.deepEqual(names.toSorted(), [...sumsOf(out).keys()]);
  assert.equal(names.length, 8);
}

/** Against the schema, by the library of CycloneDX; and by a count of our own. */
async function checkMaterials(): Promise<void> {
  const file = join(out, `uqrp-${version}.cyclonedx.json`);
  const folder = join(work, 'cyclonedx');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...options, ...VALIDATOR], { cwd: folder });
  const program = `import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
    import { readFileSync } from 'node:fs';
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    console.log(await validator.validate(readFileSync('${file}', 'utf8')));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
  assert.equal(stdout, 'null\n');
  const list = JSON.parse(readFileSync(file, 'utf8')) as {
    components: { purl: string; hashes?: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean }>;
  };
  const wanted = Object.entries(packages).flatMap(([path, entry]) =>
    path === '' || entry.dev === true ? [] : [`${path.split('node_modules/').at(-1)}@${entry.version}`],
  );
  const listed = list.components.map(({ purl }) => decodeURIComponent(purl.replace('pkg:npm/', '')));
  assert.deepEqual(
    wanted.filter((name) => !listed.includes(name)),
    [],
  );
  assert.ok(
    listed.some((name) => name.startsWith('preact@')),
    'what the dashboard contains',
  );
  assert.equal(list.components.filter(({ purl }) => /^pkg:deb\/debian\/libc6@/.test(purl)).length, 2);
  assert.deepEqual(
    list.components.filter(({ hashes }) => hashes?.length !== 1),
    [],
  );
  const known = new Set([`pkg:npm/uqrp@${version}`, ...list.components.map(({ purl }) => purl)]);
  for (const { ref, dependsOn } of list.dependencies)
    assert.deepEqual(
      [ref, ...dependsOn].filter((each) => !known.has(each)),
      [],
    );
  tell(
    `list of materials: ${list.components.length} components, all ${new Set(wanted).size} of the lock file`,
  );
}

/** Every binary of an archive is for its machine and for glibc, and there are no scripts that npm would run. */
function checkMachines(node: 'x64' | 'arm64', machine: string): void {
  const folder = join(work, node);
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', join(out, `uqrp-${version}-linux-${node}.tar.gz`), '-C', folder]);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const binaries = files.filter((path) => /^(?:\x7fELF|MZ|\xcf\xfa\xed\xfe)/.test(startOf(path)));
  for (const path of binaries) {
    const header = execFileSync('readelf', ['-h', path], { encoding: 'utf8' });
    assert.ok(header.includes(machine), `${path} is not for ${machine}`);
    const versions = execFileSync('readelf', ['-V', path], { encoding: 'utf8' });
    // What the launcher, the Debian package and docs/operations/install.md name.
    for (const [, minor] of versions.matchAll(/GLIBC_2\.(\d+)/g))
      assert.ok(Number(minor) <= 34, `${path}: 2.${minor}`);
    assert.doesNotMatch(execFileSync('readelf', ['-d', path], { encoding: 'utf8' }), /musl/);
  }
  assert.ok(binaries.length >= 4, 'Node, LMDB, msgpackr and sodium');
  const loaders = files.filter((path) => path.endsWith('/uqrp-xdp'));
  assert.equal(loaders.length, node === 'x64' ? 1 : 0, 'the loader is in the archive of its machine alone');
  const strange = files.filter((path) => /\.(?:test\.[jt]s|ts|bare|dll|dylib)$|\/test\//.test(path));
  assert.deepEqual(strange, []);
  tell(`archive for ${node}: ${files.length} files, ${binaries.length} binaries, all for ${machine}`);
}

function startOf(path: string): string {
  return statSync(path).size < 4 ? '' : readFileSync(path).subarray(0, 4).toString('latin1');
}

function lint(): void {
  if (spawnSync('lintian', ['--version']).status !== 0) {
    tell('skipped: lintian is not installed');
    return;
  }
  // The other one has the same tree, and half a minute is enough.
  const file = join(out, `uqrp_${version.replace('-', '~')}_amd64.deb`);
  const { stdout } = spawnSync('lintian', ['--no-cfg', '--allow-root', file], { encoding: 'utf8' });
  assert.deepEqual(
    stdout.split('\n').filter((line) => line.startsWith('E:')),
    [],
  );
  tell('lintian: no errors');
}

async function tryNpm(): Promise<void> {
  const folder = join(work, 'npm');
  mkdirSync(folder);
  const [server, sdk] = [join(out, `uqrp-${version}.tgz`), join(out, `uqrp-sdk-${version}.tgz`)];
  const missing = await tryNpmPackages(folder, { server, sdk });
  if (missing !== null) tell(`skipped: the client in a browser: ${missing}`);
  tell('packages of npm: installed, run, and used by a program in TypeScript');
}

async function writeAndRead(service: Service, label: string): Promise<Running> {
  const running = await startService(service);
  const name = running.write(label, `hello-${label}`);
  await running.read(name, `hello-${label}`);
  return running;
}

/** Where no Node is installed, as a user without rights. */
async function tryArchive(place: Place): Promise<void> {
  const found = place.run(['sh', '-c', 'rm -f $(which -a node nodejs npm); which node'], { env: { PATH } });
  assert.deepEqual([found.code, found.out], [1, '']);
  const folder = `uqrp-${version}-linux-x64`;
  cpSync(join(work, 'x64', folder), join(place.root, 'opt', folder), { recursive: true });
  // As a command it is often a link.
  place.run(['ln', '-s', `/opt/${folder}/bin/uqrp`, '/usr/local/bin/uqrp-archive'], { env: { PATH } });
  const data = '/tmp/archive';
  place.run(['install', '-d', '-o', '65534', '-g', '65534', data], { env: { PATH } });
  const as = { env: { PATH, HOME: data, UQRP_DATA_DIR: `${data}/data` }, user: NOBODY };
  const uqrp = ['/usr/local/bin/uqrp-archive'];
  const service = { place, uqrp, serve: [...uqrp, 'serve'], as, zone: 'uqrp.net', ports: PORTS };
  const said = await (await writeAndRead(service, 'archive')).stop();
  assert.match(said, /"event":"udp\.opened","path":"batch"/);
  // Without the loader of glibc, as on Alpine.
  place.run(['sh', '-c', `sed -i 's:/lib64/ld-linux:/none/ld-linux:' /opt/${folder}/bin/uqrp`], {
    env: { PATH },
  });
  assert.match(place.run(uqrp, as).errors, /glibc 2\.34 .* musl, as in Alpine, is not supported/);
  place.run(['rm', '-r', `/opt/${folder}`, '/usr/local/bin/uqrp-archive'], { env: { PATH } });
  tell('archive: run where no Node is, a record written and read');
}

async function tryDebian(place: Place): Promise<void> {
  const file = join(out, `uqrp_${version.replace('-', '~')}_amd64.deb`);
  const earlier = earlierPackage(file, work, EARLIER);
  await tryDebianPackage(place, { file, version, earlier, before: EARLIER });
  tell(`Debian package: ${EARLIER} installed, run as its unit does, upgraded with its data, removed, purged`);
}

interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Healthcheck: { readonly Test: readonly string[] };
  };
}

/** Checked by skopeo, which reads every blob; then run in its own root file system alone; for arm64 by qemu. */
async function tryImage(): Promise<void> {
  if (spawnSync('skopeo', ['--version']).status !== 0) {
    tell('skipped: skopeo is not installed');
    return;
  }
  const layout = join(work, 'layout');
  mkdirSync(layout);
  execFileSync('tar', ['-xf', join(out, `uqrp-${version}-oci.tar`), '-C', layout]);
  execFileSync('skopeo', [
    'copy',
    '--quiet',
    '--all',
    `oci:${layout}:${version}`,
    `dir:${join(work, 'all')}`,
  ]);
  for (const architecture of ['amd64', 'arm64']) {
    const folder = join(work, `skopeo-${architecture}`);
    const from = `oci:${layout}:${version}`;
    execFileSync('skopeo', ['copy', '--quiet', `--override-arch=${architecture}`, from, `dir:${folder}`]);
    const { config, layers } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
      config: { digest: string };
      layers: { digest: string }[];
    };
    const root = join(work, `root-${architecture}`);
    mkdirSync(root);
    for (const { digest } of layers)
      execFileSync('tar', ['-xpzf', join(folder, digest.slice(7)), '-C', root]);
    const image = JSON.parse(readFileSync(join(folder, config.digest.slice(7)), 'utf8')) as ImageConfig;
    const names = readdirSync(join(root, 'usr'), { recursive: true, encoding: 'utf8' });
    const shells = names.filter((name) => /\/(?:sh|bash|dash|npm|apt|dpkg)$/.test(name));
    assert.deepEqual(shells, []);
    if (architecture === 'arm64') emulate(root);
    else await runImage(root, image.config);
    rmSync(root, { recursive: true });
  }
}

async function runImage(root: string, config: ImageConfig['config']): Promise<void> {
  const folder = join(work, 'image');
  mkdirSync(folder);
  const place = await enterPlace(folder, root);
  try {
    const env = Object.fromEntries(config.Env.map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
    const as = { env, user: config.User };
    const [uqrp, serve] = [config.Entrypoint, [...config.Entrypoint, ...config.Cmd]];
    const health = (): number | null => place.run(config.Healthcheck.Test.slice(1), as).code;
    assert.equal(health(), 1, 'the health check passes without a server');
    const service = { place, uqrp, serve, as, zone: 'uqrp.net', ports: PORTS };
    const running = await writeAndRead(service, 'image');
    assert.equal(health(), 0);
    await running.stop();
  } finally {
    await place.leave();
  }
  tell('image for amd64: checked by skopeo, run in its root file system, a record written and read');
}

/**
 * Commands and native modules alone: in qemu 7.2 of Debian 12 a server of many threads ends with a fault of qemu, also where V8 compiles nothing.
 */
function emulate(root: string): void {
  if (spawnSync('qemu-aarch64', ['--version']).status !== 0) {
    tell('skipped: qemu-user is not installed, and nothing for arm64 was run');
    return;
  }
  const data = join(work, 'data-arm64');
  const env = { PATH, UQRP_DATA_DIR: data };
  const node = (...words: readonly string[]): string =>
    execFileSync('qemu-aarch64', ['-L', root, join(root, 'nodejs/bin/node'), ...words], {
      env,
      encoding: 'utf8',
    });
  const uqrp = join(root, 'app/bin/uqrp.js');
  assert.match(node(uqrp, '--version'), new RegExp(`^${version.replaceAll('.', '\\.')}\\+g`));
  node(uqrp, 'put', 'greeting.emulated.v1', 'hello', '--user', 'you@example.net');
  assert.match(node(uqrp, 'export', 'emulated'), /"data":"aGVsbG8="/);
  const modules = join(root, 'app/node_modules');
  const lmdb = `const db = require('${modules}/lmdb').open({ path: '${data}/lmdb' });
    db.put('a', require('${modules}/sodium-native').crypto_sign_BYTES).then(() => console.log(db.get('a')));`;
  assert.equal(node('-e', lmdb).trim(), '64');
  tell('image for arm64: checked by skopeo; commands, SQLite, LMDB and sodium run by qemu');
}

function tell(text: string): void {
  process.stdout.write(`${String(Math.round((Date.now() - began) / 1000)).padStart(4)} s  ${text}\n`);
}
