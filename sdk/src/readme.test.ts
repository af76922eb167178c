import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeProject, type Project } from '../../test/support/sdk/project.ts';
import { type TestServer, testServer } from '../../test/support/sdk/server.ts';
import { typeFaults } from '../../test/support/sdk/type-check.ts';

const run = promisify(execFile);
const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

interface Failure extends Error {
  readonly stdout: string;
  readonly stderr: string;
}

/** The fenced blocks of a page with this info string. */
function blocksOf(page: string, info: string): readonly string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]
    .filter(([, said]) => said === info)
    .map(([, , body = '']) => body);
}

describe('the pages for customers', () => {
  let server: TestServer;
  let project: Project;
  let env: NodeJS.ProcessEnv;
  before(async () => {
    [server, project] = await Promise.all([testServer(), makeProject()]);
    // What the README of the repository has made before: a free account and its namespace.
    server.cli(['put', 'greeting.acme.v1', 'hello world', '--user', 'you@example.net']);
    env = await environmentOf('sdk/README.md');
  });

  /** What a page exports, at the ports of this server: nothing that its reader is not told to set. */
  async function environmentOf(page: string): Promise<NodeJS.ProcessEnv> {
    const { http, dns } = server.ports;
    const lines = blocksOf(page, 'sh').filter((text) => text.startsWith('export '));
    const here = lines
      .join('')
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${http}`)
      .replaceAll(':5300', `:${dns}`);
    const script = `uqrp() { "$NODE" "$CLI" "$@"; }\n${here}\nunset UQRP_DATA_DIR; exec "$NODE" -p 'JSON.stringify(process.env)'`;
    const given = { PATH: process.env.PATH, UQRP_DATA_DIR: server.dataDir, NODE: process.execPath, CLI };
    return JSON.parse((await run('sh', ['-eu', '-c', script], { env: given })).stdout);
  }
  after(() => project?.remove());

  it('the examples of sdk/README.md run one after the other with a free account, and print what the page says', async () => {
    const examples = blocksOf('sdk/README.md', 'ts example');
    assert.ok(examples.length >= 9);
    const path = project.write('readme.ts', examples.join('\n'));
    const { stdout } = await run(process.execPath, [path], { env, cwd: project.folder });
    assert.equal(stdout, blocksOf('sdk/README.md', 'text output').join(''));
  });

  for (const [info, program] of [
    ['python uqrp_client.py', 'python3'],
    ['sh uqrp-client.sh', 'sh'],
  ] as const) {
    const isMissing = spawnSync(program, ['-c', ''], { stdio: 'ignore' }).error !== undefined;
    it(`the client of docs/CLIENTS.md: ${info}`, {
      skip: isMissing && `${program} is not on this machine`,
    }, async () => {
      const [text = ''] = blocksOf('docs/CLIENTS.md', info);
      const path = project.write(info.split(' ')[1] ?? '', text);
      const client = async (...words: string[]) => (await run(program, [path, ...words], { env })).stdout;
      await client('put', 'shared.clients.acme.v1', 'grüße "1"');
      assert.equal((await client('get', 'shared.clients.acme.v1')).trim(), 'grüße "1"');
      if (program === 'python3') assert.match(await client('list', 'acme'), /^shared\.clients\.acme\.v1$/m);
      await client('delete', 'shared.clients.acme.v1');
      await assert.rejects(client('get', 'shared.clients.acme.v1'), { code: 1, stdout: '' });
      await assert.rejects(run(program, [path, 'put', 'not-a-key', 'x'], { env }), (error: Failure) =>
        /key must be/.test(error.stdout + error.stderr),
      );
      await assert.rejects(run(program, [path], { env }), /put KEY TEXT/);
    });
  }

  const noDig = spawnSync('dig', ['-v'], { stdio: 'ignore' }).error !== undefined;
  it('the shell client reads over DNS', { skip: noDig && 'dig is not on this machine' }, async () => {
    const path = project.write('uqrp-client.sh', blocksOf('docs/CLIENTS.md', 'sh uqrp-client.sh')[0] ?? '');
    await run('sh', [path, 'put', 'dns.clients.acme.v1', 'x'.repeat(300)], { env });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    const until = Date.now() + 20_000;
    const reading = (key: string) =>
      run('sh', [path, 'read', key], { env }).then(
        ({ stdout }) => stdout,
        (error: Failure) => {
          assert.match(error.stderr, /^no record/);
          return '';
        },
      );
    let read = '';
    while (read === '' && Date.now() < until) read = await reading('dns.clients.acme.v1');
    assert.equal(read, 'x'.repeat(300));
    assert.equal(await reading('absent.clients.acme.v1'), '');
    const away = { ...env, DNS_SERVER: '127.0.0.1:1' };
    await assert.rejects(
      run('sh', [path, 'read', 'dns.clients.acme.v1'], { env: away }),
      (error: Failure) => {
        assert.match(error.stderr, /127\.0\.0\.1#1/);
        return true;
      },
    );
  });

  const noPython = spawnSync('python3', ['-V'], { stdio: 'ignore' }).error !== undefined;
  it('the commands of docs/CLIENTS.md print what the page says', {
    skip: (noDig || noPython) && 'dig or python3 is not on this machine',
  }, async () => {
    const [write = '', read = ''] = blocksOf('docs/CLIENTS.md', 'sh example');
    const [expected = ''] = blocksOf('docs/CLIENTS.md', 'text output');
    for (const name of ['python uqrp_client.py', 'sh uqrp-client.sh'])
      project.write(name.split(' ')[1] ?? '', blocksOf('docs/CLIENTS.md', name)[0] ?? '');
    const shell = async (command: string) =>
      (await run('sh', ['-c', command], { env, cwd: project.folder })).stdout;
    await shell(write);
    const until = Date.now() + 20_000;
    let printed = '';
    // A write is visible over DNS some milliseconds after its answer.
    while (printed.trim() !== expected.trim() && Date.now() < until)
      printed = await shell(read).catch(() => '');
    assert.equal(printed.trim(), expected.trim());
  });

  it('the other TypeScript of sdk/README.md has no fault of types', () => {
    const given =
      'declare const codeFromTheMail: string, signal: AbortSignal, rawBody: string, signingSecret: string;';
    const rest =
      'declare const location: { origin: string }, request: { headers: Record<string, string | undefined> };';
    const [first = ''] = blocksOf('sdk/README.md', 'ts example');
    const texts = blocksOf('sdk/README.md', 'ts').map((text) => `${first}\n${given}\n${rest}\n${text}`);
    assert.ok(texts.length >= 4);
    const paths = texts.map((text, at) => project.write(`snippet-${at}.ts`, text));
    const broken = project.write('snippet-broken.ts', texts[0]!.replace('auth.verify(', 'auth.verifi('));
    const faults = typeFaults([...paths, broken]);
    assert.deepEqual(
      faults.slice(0, -1),
      paths.map(() => []),
    );
    assert.match(faults.at(-1)?.[0]?.message ?? '', /verifi/);
  });
});
