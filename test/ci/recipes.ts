/**
 * Runs the recipes of docs/RECIPES.md and docs/RECIPES-FOLLOW.md, the JSON request of docs/PROTOCOL.md, and the GitHub Action of deploy/, against a real server, and compares what they print with the page. A
 * recipe whose program is not installed is skipped with a line that says so. Exit code 1 when one fails.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { deployText } from '../support/deploy/unit-file.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PAGE = ['RECIPES', 'RECIPES-FOLLOW'].map(page).join('\n');
const LIMIT_MS = 60_000;
/** A plain text whose answer has two strings. */
const LONG = 'y'.repeat(300);

function page(name: string): string {
  return readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
}

interface Block {
  readonly language: string;
  /** The program that a shell block needs, or the name of a block of YAML. */
  readonly word: string;
  readonly text: string;
  /** What the page shows below it. */
  readonly shown: string | null;
}

/** How a block of each language runs: a file name, and the command before it. */
const RUNNERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  sh: ['recipe.sh', 'sh', '-eu'],
  python3: ['recipe.py', 'python3'],
  go: ['recipe.go', 'go', 'run'],
};

const blocks: readonly Block[] = Array.from(
  PAGE.matchAll(/^```(\w+) ?(\w*)\n([\s\S]*?)^```$(?:\n+^```text\n([\s\S]*?)^```$)?/gm),
  ([, language = '', word = '', text = '', shown]) => ({ language, word, text, shown: shown ?? null }),
);
const folder = mkdtempSync(join(tmpdir(), 'uqrp-recipes-'));
const server = await startUqrp({ UQRP_WORKERS: '1' });
try {
  const owner = await prepare(server);
  let ran = 0;
  const followers = blocks.filter(({ word }) => word === 'follow');
  for (const block of blocks)
    if (block.language in RUNNERS && block.word !== 'follow' && runBlock(block)) ran++;
  assert.ok(ran >= 3, `only ${ran} recipes ran`);
  readsLong();
  await jsonOfProtocol();
  const key = await apiKey(owner, ['read']);
  assert.equal(followers.length, 3);
  for (const block of followers) await followBlock(block, owner, key);
  await externalSecret(key);
  await homeAssistant();
  await githubAction(owner);
  await applyAction(owner);
  const { dbs } = parse(deployText('litestream.yml')) as { dbs: { path: string; replicas: unknown[] }[] };
  assert.deepEqual([dbs[0]?.path, dbs[0]?.replicas.length], ['/var/lib/uqrp/uqrp.sqlite', 1]);
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Records of the README, a long one, and `uqrp` on the path. */
async function prepare(uqrp: Uqrp): Promise<Account> {
  const owner = account(uqrp, 'you@example.net');
  uqrp.cli(['put', 'greeting.acme.v1', 'hello world', '--user', 'you@example.net', '--public-read']);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/uqrp'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  chmodSync(join(folder, 'bin/uqrp'), 0o755);
  uqrp.cli(['put', 'dark-mode.flags.acme.v1', 'on']);
  const record = { key: 'long.acme.v1', data: Buffer.from(LONG).toString('base64'), encoding: 'plain' };
  assert.equal((await owner.call('POST', '/records', { record })).status, 201);
  await visible('long.acme.v1', LONG.slice(0, 100));
  return owner;
}

/** Waits until a record is answered over DNS. */
async function visible(key: string, text: string): Promise<void> {
  const until = Date.now() + LIMIT_MS;
  const data = Buffer.from(text).toString('base64');
  for (;;) {
    const { body } = await get(`/resolve?name=get.${key}.uqrp.net&type=TXT`);
    if (body.includes(`;d=${data}`) || body.includes(`;d=${text}`)) return;
    assert.ok(Date.now() < until, body);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://localhost:${server.ports.http}${path}`, { headers });
  return { status: response.status, body: await response.text() };
}

/** Ports of this run for those of the page. */
function here(text: string): string {
  return text
    .replace(/127\.0\.0\.1(:| -p | --port )5300/g, `127.0.0.1$1${server.ports.dns}`)
    .replaceAll('localhost:8080', `localhost:${server.ports.http}`);
}

/** A block as a file; null: a program that it needs is not installed. */
function fileOf({ language, word, text }: Block, name: string): readonly [string, ...string[]] | null {
  // A program that follows runs as its reader starts it: without options that end the shell at a failure.
  const plain = language === 'sh' && word === 'follow';
  const [file, command = '', ...args] = plain ? ['recipe.sh', 'sh'] : RUNNERS[language]!;
  const needed = language !== 'sh' ? [command] : word === 'follow' ? ['curl', 'jq'] : [word || 'sh'];
  const lacking = needed.find((one) => spawnSync('sh', ['-c', `command -v ${one}`]).status !== 0);
  if (lacking !== undefined) {
    process.stdout.write(`skipped: ${lacking} is not installed: ${name}\n`);
    return null;
  }
  const path = join(folder, file);
  writeFileSync(path, here(text));
  return [command, ...args, path];
}

function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    GOCACHE: join(folder, 'go'),
    GOFLAGS: '-mod=mod',
  };
}

/** @returns whether it ran */
function runBlock(block: Block): boolean {
  const name = `${block.language} ${block.word}: ${block.text.split('\n')[0]}`;
  const run = fileOf(block, name);
  if (run === null) return false;
  const [command, ...args] = run;
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    env: environment(),
    encoding: 'utf8',
    timeout: 200_000,
  });
  assert.equal(status, 0, `${name}\n${stderr}`);
  if (block.shown !== null) assert.equal(stdout.trim(), block.shown.trim(), name);
  else assert.match(stdout, /it exists\nit does not/, name);
  process.stdout.write(`ran: ${name}\n`);
  return true;
}

/** The recipes for a shell print a record of two strings whole, or say that they cannot. */
function readsLong(): void {
  for (const { language, word, text } of blocks) {
    if (language !== 'sh' || word === '' || !text.includes('greeting.acme.v1')) continue;
    const block = { language, word, text: text.replace('greeting.acme.v1', 'long.acme.v1'), shown: null };
    const run = fileOf(block, `${word}: a long record`);
    if (run === null) continue;
    const { status, stdout, stderr } = spawnSync(run[0], run.slice(1), { cwd: folder, encoding: 'utf8' });
    if (word === 'busybox')
      assert.deepEqual([status, stdout, stderr], [1, '', 'long.acme.v1 is too long for nslookup\n']);
    else assert.deepEqual([status, stdout], [0, `${LONG}\n`], stderr);
    process.stdout.write(`ran: ${word}: a long record\n`);
  }
}

/** The answer that docs/PROTOCOL.md shows is that to the request above it. */
async function jsonOfProtocol(): Promise<void> {
  const [, path = '', shown = ''] =
    /'https:\/\/localhost:8443(\/resolve\?[^']*)'[\s\S]*?^```json\n([\s\S]*?)^```$/m.exec(page('PROTOCOL')) ??
    [];
  assert.deepEqual(JSON.parse((await get(path)).body), JSON.parse(shown));
  process.stdout.write('ran: the JSON of docs/PROTOCOL.md\n');
}

/** A program that follows `acme` is told of changes as they are made, and after a kill of those that it has missed. */
async function followBlock(block: Block, owner: Account, token: string): Promise<void> {
  const name = `${block.language}: follow a namespace`;
  const run = fileOf(block, name);
  if (run === null) return;
  const place = join(folder, 'acme.cursor');
  rmSync(place, { force: true });
  await startsAway(run, name, place);
  let [printed, errors] = ['', ''];
  const start = (): (() => Promise<void>) => {
    const [command, ...args] = run;
    // A group of its own: `go run` starts the program as a child.
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...environment(), UQRP_TOKEN: token },
      detached: true,
    });
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const closed = once(child, 'close');
    return async () => {
      process.kill(-child.pid!, 'SIGKILL');
      await closed;
    };
  };
  const until = async (isDone: () => boolean): Promise<void> => {
    for (const end = Date.now() + 200_000; !isDone(); await new Promise((resolve) => setTimeout(resolve, 20)))
      assert.ok(Date.now() < end, `${name}\n${printed}\n${errors}`);
  };
  const write = async (key: string): Promise<void> => {
    const made = await owner.call('POST', '/records', { record: { key, data: '' } });
    assert.equal(made.status, 201);
    const { id } = made.body as { id: string };
    assert.equal((await owner.call('DELETE', `/records/${id}`)).status, 204);
  };
  const told = (key: string): string => `record.upserted ${key}\nrecord.deleted ${key}\n`;
  let kill = start();
  try {
    await until(() => existsSync(place));
    const first = readFileSync(place, 'utf8');
    await write('noted.acme.v1');
    await until(() => printed === told('noted.acme.v1') && readFileSync(place, 'utf8') !== first);
    // It waits for the next change, all day; all users of the machine can read the arguments of every process.
    let seen = '';
    await until(() => {
      seen = commandLines();
      return block.language !== 'sh' || seen.includes(`since=${readFileSync(place, 'utf8').trim()}`);
    });
    assert.ok(!seen.includes(token), `${name}: its token stands in the arguments of a process`);
  } finally {
    await kill();
  }
  printed = '';
  await write('missed.acme.v1');
  kill = start();
  try {
    await until(() => printed.endsWith(told('missed.acme.v1')));
  } finally {
    await kill();
  }
  // The kill may have come between a change and the keeping of its place: then it is told again.
  assert.ok(told('noted.acme.v1').endsWith(printed.replace(told('missed.acme.v1'), '')), printed);
  process.stdout.write(`ran: ${name}\n`);
}

/** The arguments of all processes of the machine. */
function commandLines(): string {
  const { stdout } = spawnSync('ps', ['-eww', '-o', 'args'], { encoding: 'utf8', maxBuffer: 1 << 26 });
  assert.match(stdout, /recipes\.ts/);
  return stdout;
}

/**
 * A first start while the server is away, or is a proxy that answers with nothing, fails: a supervisor starts the program again. It leaves no
 * place that each later start would fail with.
 */
async function startsAway(
  [command, ...args]: readonly [string, ...string[]],
  name: string,
  place: string,
): Promise<void> {
  const proxy = createServer((_, response) => response.end()).listen(0, 'localhost');
  await once(proxy, 'listening');
  const path = args.pop()!;
  const away = join(folder, `away-${basename(path)}`);
  for (const port of [1, (proxy.address() as AddressInfo).port]) {
    writeFileSync(away, readFileSync(path, 'utf8').replace(/localhost:\d+/, `localhost:${port}`));
    const env = { ...environment(), UQRP_TOKEN: 'unused' };
    const child = spawn(command, [...args, away], { cwd: folder, env, stdio: 'ignore', timeout: 200_000 });
    const [status] = await once(child, 'close');
    assert.ok(status > 0, `${name}: ended with ${status} although nobody answered at port ${port}`);
    assert.ok(!existsSync(place), `${name}: a place is kept although nobody answered at port ${port}`);
  }
  proxy.close();
}

function yamlBlock(word: string): string {
  const found = blocks.find((block) => block.language === 'yaml' && block.word === word);
  assert.ok(found, word);
  return found.text;
}

async function apiKey(owner: Account, operations: readonly string[]): Promise<string> {
  const body = { api_key: { name: 'recipe', scopes: { operations, namespaces: ['acme'] } } };
  const made = await owner.call('POST', '/api_keys', body);
  assert.equal(made.status, 201);
  return (made.body as { token: string }).token;
}

/** The request of the operator: templates replaced, the answer read by `$[0].data`, then decoded. */
async function externalSecret(token: string): Promise<void> {
  const { webhook } = parse(yamlBlock('store')).spec.provider;
  const [{ remoteRef }] = parse(yamlBlock('external')).spec.data;
  const fill = (text: string) =>
    text.replace('{{ .remoteRef.key }}', remoteRef.key).replace('{{ .auth.token }}', token);
  const url = new URL(fill(webhook.url));
  const { status, body } = await get(url.pathname + url.search, {
    authorization: fill(webhook.headers.Authorization),
  });
  assert.equal(status, 200, body);
  assert.equal(webhook.result.jsonPath, '$[0].data');
  assert.equal(remoteRef.decodingStrategy, 'Base64');
  assert.equal(Buffer.from(JSON.parse(body)[0].data, 'base64').toString(), 'hello world');
  process.stdout.write('ran: the request of External Secrets\n');
}

async function homeAssistant(): Promise<void> {
  const [{ resource, sensor }] = parse(yamlBlock('sensor')).rest;
  const url = new URL(here(resource));
  const { status, body } = await get(url.pathname + url.search);
  assert.equal(status, 200, body);
  const [, path, expression = ''] =
    /value_json\.(\S+) \| regex_findall_index\('(.*)'\)/.exec(sensor[0].value_template) ?? [];
  assert.equal(path, 'Answer[0].data');
  const [, value = ''] = new RegExp(expression).exec(JSON.parse(body).Answer[0].data) ?? [];
  assert.ok(Number.isFinite(Date.parse(value)), value);
  process.stdout.write('ran: the expression of Home Assistant\n');
}

/** Runs the step of an action as bash does. */
function actionStep(path: string, given: Readonly<Record<string, string>>) {
  const { inputs, runs } = parse(deployText(path));
  const [step] = runs.steps;
  assert.deepEqual([runs.using, step.shell, runs.steps.length], ['composite', 'bash', 1]);
  assert.doesNotMatch(step.run, /\$\{\{/);
  return (own: Record<string, string> = {}) => {
    const values: Record<string, string | undefined> = { ...given, ...own };
    const filled = Object.entries<string>(step.env).map(([name, template]) => {
      const [, input = ''] = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(template) ?? [];
      assert.ok(input in inputs, template);
      return [name, values[input] ?? inputs[input].default];
    });
    const env = { PATH: process.env.PATH, ...Object.fromEntries(filled) };
    return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
  };
}

/** The step that writes a record, with inputs that are right, wrong, and meant to be run. */
async function githubAction(owner: Account): Promise<void> {
  const token = await apiKey(owner, ['write']);
  const given = { url: `http://localhost:${server.ports.http}`, token, key: 'release.app.acme.v1' };
  const bash = actionStep('actions/uqrp-write/action.yml', given);
  const value = '"; touch ran #\n$(touch ran) grüße';
  const stored = bash({ value });
  assert.deepEqual([stored.status, stored.stdout], [0, 'stored release.app.acme.v1\n'], stored.stderr);
  await visible('release.app.acme.v1', value);
  const refused: readonly Record<string, string>[] = [
    { value, token: 'f'.repeat(64) },
    { value, key: 'release.app.other.v1' },
    { value, key: 'a", "x": "b.acme.v1' },
    { value, 'ttl-seconds': '1}' },
    { value, 'content-type': 'text/"' },
  ];
  for (const own of refused) {
    const { status, stdout } = bash(own);
    assert.notEqual(status, 0, JSON.stringify(own));
    assert.match(stdout, /::error::/);
    assert.doesNotMatch(stdout, /[0-9a-f]{64}/);
  }
  assert.equal(spawnSync('test', ['-e', join(folder, 'ran')]).status, 1, 'a value was run');
  process.stdout.write('ran: the step of the GitHub Action\n');
}

/** The plan on a pull request, the write on a merge, and the same again. */
async function applyAction(owner: Account): Promise<void> {
  const token = await apiKey(owner, ['read', 'write']);
  mkdirSync(join(folder, 'config/flags'), { recursive: true });
  writeFileSync(join(folder, 'config/uqrp.json'), '{"namespace": "acme"}\n');
  writeFileSync(join(folder, 'config/flags/beta.json'), '{"on": true}\n');
  const bash = actionStep('actions/uqrp-apply/action.yml', {
    url: `http://localhost:${server.ports.http}`,
    token,
    directory: 'config',
    command: join(folder, 'bin/uqrp'),
    'dry-run': 'false',
  });
  const planned = bash({ 'dry-run': 'true' });
  const plan =
    '+ beta.flags.acme.v1   13 bytes\n  + {\n  +   "on": true\n  + }\n0 changed, 1 new, 0 to delete, 0 unchanged\n';
  assert.deepEqual([planned.status, planned.stdout], [0, plan], planned.stderr);
  const applied = bash();
  assert.equal(applied.status, 0, applied.stderr);
  await visible('beta.flags.acme.v1', '{"on": true}\n');
  assert.equal(bash().stdout, '0 changed, 0 new, 0 to delete, 1 unchanged\n');
  assert.notEqual(bash({ token: 'f'.repeat(64) }).status, 0);
  process.stdout.write('ran: the step of the GitHub Action that applies a directory\n');
}
