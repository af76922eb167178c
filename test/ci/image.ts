/**
 * Builds deploy/Dockerfile without Docker: its steps run in folders that stand for the file systems of the stages, and the command of the
 * last stage runs on what COPY put there, with the variables of ENV and nothing else. Then it is asked over DNS, by its own health check, and
 * stopped. Exit code 1 when something differs from what the file says. The base images themselves are not tried.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  dockerIgnores,
  environmentOf,
  execForm,
  type Instruction,
  only,
  parseDockerfile,
  type Stage,
} from '../support/deploy/dockerfile.ts';
import { deployText } from '../support/deploy/unit-file.ts';
import { freePort } from '../support/free-port.ts';
import { requirePrograms } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIMIT_MS = 240_000;
/** The user nonroot of distroless images. */
const NONROOT = 65_532;
const MEGABYTES_MAX = 150;
const NAME = 'get.100-km-to-mi.units.public.v1.uqrp.net';

requirePrograms({ npm: 'npm', git: 'git', tar: 'tar' });
const folder = mkdtempSync(join(tmpdir(), 'uqrp-image-'));
chmodSync(folder, 0o755);
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const stages = parseDockerfile(deployText('Dockerfile'));
  const roots = new Map<string, string>();
  let root = '';
  for (const [index, stage] of stages.entries()) {
    root = join(folder, `${index}`);
    mkdirSync(root);
    build(stage, root, roots);
    roots.set(stage.name ?? `${index}`, root);
  }
  const [image] = stages.slice(-1);
  assert.match(image!.image, /^gcr\.io\/distroless\/nodejs24-debian\d+:nonroot$/);
  const [size] = execFileSync('du', ['-sm', join(root, 'app')], { encoding: 'utf8' }).split('\t');
  assert.ok(Number(size) <= MEGABYTES_MAX, `${size} MB`);
  // Where the base image has Node.
  mkdirSync(join(root, 'nodejs/bin'), { recursive: true });
  copyFileSync(process.execPath, join(root, 'nodejs/bin/node'));
  await tryImage(image!, root);
  process.stdout.write(`built, started, asked and stopped: ${size} MB besides Node\n`);
}

function build(stage: Stage, root: string, roots: ReadonlyMap<string, string>): void {
  let work = root;
  for (const step of stage.instructions) {
    if (step.word === 'WORKDIR') {
      work = join(root, step.rest);
      mkdirSync(work, { recursive: true });
    } else if (step.word === 'COPY') {
      copy(step, root, work, roots);
    } else if (step.word === 'RUN') {
      run(step.rest, work);
    }
  }
}

function copy(step: Instruction, root: string, work: string, roots: ReadonlyMap<string, string>): void {
  const [from = '', to = ''] = step.rest.split(' ');
  const stage = step.options.get('from');
  if (stage === undefined) {
    assert.deepEqual([from, to], ['.', '.']);
    copyContext(work);
    return;
  }
  const target = join(root, to);
  cpSync(join(roots.get(stage)!, from), target, { recursive: true, verbatimSymlinks: true });
  const [user, group] = (step.options.get('chown') ?? '0:0').split(':').map(Number);
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${user}:${group}`, target]);
}

/** Files of the checkout that git knows, without those that Dockerfile.dockerignore names. */
function copyContext(work: string): void {
  const isIgnored = dockerIgnores(deployText('Dockerfile.dockerignore'));
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const path of listed) {
    if (path === '' || isIgnored(path)) continue;
    mkdirSync(dirname(join(work, path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(work, path));
  }
}

function run(line: string, cwd: string): void {
  assert.doesNotMatch(line, /(?:^|[\s=])\//, `an absolute path: ${line}`);
  // Node 24 as in the image of the build, and the system's npm.
  const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
  const env = { ...process.env, PATH: path };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  if (status !== 0) throw new Error(`RUN ${line}: ${status}\n${stdout}${stderr}`);
  process.stdout.write(`RUN ${line}\n`);
}

async function tryImage(image: Stage, root: string): Promise<void> {
  const [dns, health, ...others] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const here = (text: string): string =>
    text
      .replace(/^\/(nodejs|app|data)\//, `${root}/$1/`)
      .replaceAll('127.0.0.1:9153', `127.0.0.1:${health}`)
      .replaceAll('0.0.0.0:9153', `127.0.0.1:${health}`);
  const declared = environmentOf(image);
  assert.equal(declared.UQRP_HOST, '0.0.0.0');
  const env = {
    ...Object.fromEntries(Object.entries(declared).map(([name, value]) => [name, here(value)])),
    UQRP_DNS_PORT: `${dns}`,
    UQRP_HTTP_PORT: `${others[0]}`,
    UQRP_DOT_PORT: `${others[1]}`,
    UQRP_DOH_PORT: `${others[2]}`,
    UQRP_WORKERS: '1',
  };
  const user = process.getuid?.() === 0 ? { uid: NONROOT, gid: NONROOT } : {};
  const options = { env, cwd: join(root, 'app'), ...user };
  const entry = execForm(only(image, 'ENTRYPOINT')).map(here);
  const uqrp = (...words: string[]) => {
    const [program = '', ...first] = entry;
    return spawnSync(program, [...first, ...words], { ...options, encoding: 'utf8', timeout: LIMIT_MS });
  };
  const [checkProgram = '', ...checkArguments] = execForm(
    only(image, 'HEALTHCHECK').replace(/^CMD /, ''),
  ).map(here);
  const healthy = (): boolean => spawnSync(checkProgram, checkArguments, options).status === 0;

  assert.equal(healthy(), false, 'the health check passes without a server');
  const [program = '', ...words] = [...entry, ...execForm(only(image, 'CMD'))];
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const ended = once(child, 'close') as Promise<[number | null]>;
  try {
    const until = Date.now() + 60_000;
    while (!healthy()) {
      assert.ok(child.exitCode === null && Date.now() < until, said);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const answer = uqrp('query', NAME, '--server', '127.0.0.1', '--port', `${dns}`);
    assert.equal(answer.status, 0, answer.stderr);
    assert.match(answer.stdout, /62\.1371192237/);
  } finally {
    child.kill('SIGTERM');
  }
  assert.deepEqual((await ended).slice(0, 1), [0], said);
  // The fast path over UDP needs the C library of the image.
  if (process.platform === 'linux') assert.match(said, /"event":"udp\.opened","path":"batch"/);
  assert.equal(healthy(), false);
}
