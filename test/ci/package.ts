/**
 * Packs this checkout, installs the package into an empty folder as a user without rights and with scripts off, and runs it, on the oldest Node that
 * it names and on the one of the project; then a checkout with `npm ci --omit=dev`. Needs the npm registry. Exits 1 at the first fault.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { done, type Installed, tryServer } from '../support/package/question.ts';
import { copyCheckout, makeSandbox, megabytesOf } from '../support/package/sandbox.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The oldest version of 22 in `config.node` of package.json. */
const OLDEST = '22.20.0';
const MEGABYTES_MAX = 150;
const SYSTEM_NODE = '/usr/bin';
/** Of the checkout that the package is made from. */
const COMMIT = '3ad8411f00000000000000000000000000000000';

const began = Date.now();
const { version, config } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
assert.ok(config.node.includes(OLDEST), 'OLDEST is not the version of package.json');
const sandbox = makeSandbox();

/** Copies the project's Node to where every user reads it. @returns its folder */
function ownNode(): string {
  const folder = join(sandbox.folder, 'node');
  cpSync(process.execPath, join(folder, 'node'));
  return folder;
}

/** @returns the folder of a Node from npm */
function nodeOf(bin: string, wanted: string): string {
  const cwd = sandbox.home(`node-${wanted}`);
  const name = `node-${process.platform}-${process.arch}`;
  npm(bin, cwd, 'install', '--ignore-scripts', `${name}@${wanted}`);
  return join(cwd, 'node_modules', name, 'bin');
}

function npm(bin: string, cwd: string, ...args: readonly string[]): void {
  const { code, errors } = sandbox.run(bin, cwd, ['node', sandbox.npm, '--no-audit', '--no-fund', ...args]);
  assert.equal(code, 0, errors);
  // EBADENGINE: a package of ours that this Node does not suit.
  assert.doesNotMatch(errors, /EBADENGINE|npm error/, errors);
}

function pack(): string {
  const folder = join(sandbox.folder, 'checkout');
  copyCheckout(folder);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, '.git'), { recursive: true });
  writeFileSync(join(folder, '.git/HEAD'), `${COMMIT}\n`);
  const before = readFileSync(join(folder, 'package.json'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', sandbox.folder], {
    cwd: folder,
    stdio: 'inherit',
  });
  assert.deepEqual(readFileSync(join(folder, 'package.json')), before, 'npm pack changed package.json');
  return join(sandbox.folder, `uqrp-${version}.tgz`);
}

function contents(file: string): void {
  const names = execFileSync('tar', ['-tzf', file], { encoding: 'utf8' }).trim().split('\n');
  const isStrange = (name: string): boolean =>
    !/^package\/(?:sdk\/[A-Z]+\.md|dist\/sdk\/.*\.js)$/.test(name) &&
    /\.ts$|\/(?:test|bench|src|sdk|scripts)\/|\.test\.[jt]s$/.test(name);
  assert.deepEqual(names.filter(isStrange), []);
  for (const name of [
    'npm-shrinkwrap.json',
    'dist/cli.js',
    'dashboard/dist/index.html',
    'dashboard/dist/docs/index.html',
    'dashboard/dist/docs/manifest.json',
    'docs/screens/overview.png',
    'bin/uqrp.js',
    'README.md',
    'LICENSE',
    'docs/OPERATIONS.md',
    'docs/operations/install.md',
    'docs/alerts/uqrp.rules.yml',
    'docs/alerts/uqrp.rules.test.yml',
    'native/prebuilt/linux-x64/udp-batch.node',
    'native/prebuilt/linux-x64/uqrp-xdp',
  ])
    assert.ok(names.includes(`package/${name}`), name);
  tell(`packed: ${names.length} files`);
}

async function tryPackage(file: string, bin: string): Promise<void> {
  const node = sandbox.run(bin, '/', ['node', '--version']).out.trim();
  const cwd = sandbox.home(`empty-${node}`);
  npm(bin, cwd, 'install', '--ignore-scripts', file);
  const megabytes = megabytesOf(join(cwd, 'node_modules'));
  tell(`${node}: installed, ${megabytes} MB`);
  assert.ok(megabytes <= MEGABYTES_MAX, `more than ${MEGABYTES_MAX} MB`);
  const installed: Installed = { sandbox, bin, cwd, command: [join(cwd, 'node_modules/.bin/uqrp')] };
  assert.equal(done(installed, '--version'), `${version}+g${COMMIT.slice(0, 7)}\n`);
  assert.ok(done(installed, '--help').includes(join(cwd, 'node_modules/uqrp/docs')));
  assert.match(done(installed, '--help'), /^Usage: uqrp /);
  tryLoader(cwd, bin);
  await tryServer(installed, [...installed.command, 'serve'], /<div id="app">/);
  tell(`${node}: started, asked, written, stopped`);
}

/** The program that docs/operations/below-the-sockets.md starts may be executed, and finds its C library. */
function tryLoader(cwd: string, bin: string): void {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') return;
  const loader = join(cwd, 'node_modules/uqrp/native/prebuilt/linux-x64/uqrp-xdp');
  const { code, errors } = sandbox.run(bin, cwd, [loader]);
  assert.deepEqual([code, errors], [2, 'usage: uqrp-xdp SOCKET PORT INTERFACE...\n']);
}

/**
 * The package with an old Node says which Node it needs and how to install one, and the advice works, in a project and globally
 * (operator finding 14).
 */
function tryOldNode(file: string): void {
  const { stdout } = spawnSync(join(SYSTEM_NODE, 'node'), ['--version'], { encoding: 'utf8' });
  if (!/^v(?:1[4-9]|2[01])\./.test(stdout ?? '')) {
    tell('old Node: skipped, the system has none');
    return;
  }
  const project = sandbox.home('old-node');
  sandbox.run(SYSTEM_NODE, project, ['npm', 'init', '--yes']);
  const prefix = join(project, 'prefix');
  for (const [options, program] of [
    [[], join(project, 'node_modules/.bin/uqrp')],
    [['--global', '--prefix', prefix], join(prefix, 'bin/uqrp')],
  ] as const) {
    npm(present, project, 'install', ...options, '--ignore-scripts', file);
    const { code, errors } = sandbox.run(SYSTEM_NODE, project, [program, '--version']);
    assert.equal(code, 1);
    const [, advice] = /^uqrp needs a Node of .* or run "npm ([^"]+)", which installs one/.exec(errors) ?? [];
    assert.ok(advice !== undefined, errors);
    assert.equal(advice.includes('--global'), options.length > 0, advice);
    npm(present, project, ...advice.split(' '), ...options.slice(1));
    const now = sandbox.run(SYSTEM_NODE, project, [program, '--version']);
    assert.deepEqual([now.code, now.errors], [0, '']);
  }
  assert.ok(
    existsSync(join(prefix, 'share/man/man1/uqrp.1')),
    'npm links the manual page (operator finding 15)',
  );
  assert.equal(
    existsSync(join(prefix, 'bin/node')),
    false,
    'the Node of the system stays the one of the shell',
  );
  rmSync(project, { recursive: true, force: true });
  tell(`${stdout.trim()}: refused with a reason, and its advice helps, in a project and globally`);
}

async function tryCheckout(bin: string): Promise<void> {
  const cwd = sandbox.home('omit-dev');
  sandbox.run('/usr/bin', cwd, ['mkdir', '-p', 'uqrp']);
  const folder = join(cwd, 'uqrp');
  copyCheckout(folder);
  execFileSync('chown', ['-R', '--reference', cwd, folder]);
  npm(bin, folder, 'ci', '--omit=dev', '--ignore-scripts');
  const installed: Installed = { sandbox, bin, cwd: folder, command: ['node', join(folder, 'bin/uqrp.js')] };
  await tryServer(installed, ['node', sandbox.npm, 'start', '--silent'], /The dashboard is not built/);
  tell(
    'a checkout with npm ci --omit=dev: started, asked, written, stopped; says that the dashboard is not built',
  );
}

function tell(text: string): void {
  process.stdout.write(`${String(Math.round((Date.now() - began) / 1000)).padStart(4)} s  ${text}\n`);
}

const file = pack();
contents(file);
const present = ownNode();
const oldest = nodeOf(present, OLDEST);
await tryPackage(file, oldest);
await tryPackage(file, present);
tryOldNode(file);
const pkgDir = join(sandbox.folder, `empty-v${OLDEST}`, 'node_modules/uqrp');
const { messages } = await publint({ pkgDir, strict: true });
const manifest = JSON.parse(readFileSync(join(pkgDir, 'package.json'), 'utf8'));
assert.deepEqual(
  messages.map((message) => formatMessage(message, manifest)),
  [],
);
tell('publint: nothing');
await tryCheckout(present);
