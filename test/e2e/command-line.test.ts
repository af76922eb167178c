import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { programVersion } from '../../src/ops/config/version.ts';
import { CLI, ended, runCli, settingsFor, startCommand } from '../support/command.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SYSTEM_NODE = '/usr/bin/node';

describe('the command line', () => {
  let server: Uqrp;
  let env: NodeJS.ProcessEnv;
  let dir: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-cli-'));
    server = await startUqrp();
    env = { ...settingsFor(server.dataDir), UQRP_DNS_PORT: String(server.ports.dns) };
    const customer = account(server, 'cli@example.net', 'free');
    await customer.call('POST', '/namespaces', { namespace: { name: 'cli' } });
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const codeOf = async (...args: readonly string[]): Promise<number | null> => (await runCli(args, env)).code;

  it('prints its version', async () => {
    for (const option of ['--version', '-V']) {
      assert.deepEqual(await runCli([option], env), {
        code: 0,
        signal: null,
        out: `${programVersion()}\n`,
        errors: '',
      });
    }
  });

  it('ends with 0 for an answer, and with 1 for REFUSED, no data and a malformed name', async () => {
    assert.equal(await codeOf('query', 'get.100-km-to-mi.units.public.v1'), 0);
    assert.equal(await codeOf('query', 'get.a.cli.v1'), 1);
    assert.equal(await codeOf('query', 'get.1-km-to-nothing.units.public.v1'), 1);
    const { code, out } = await runCli(['query', 'uqrp.net'], env);
    assert.equal(code, 1);
    assert.match(out, /^NOERROR.*\nno TXT record at uqrp\.net\n$/s);
  });

  it('ends with 2 for a wrong command line', async () => {
    for (const line of [
      ['query', 'a', '--tcp', '--doh'],
      ['query', 'a', '--port', '0'],
      ['query', 'a..b'],
      ['transfer', '--help'],
      ['user', 'crate'],
      ['stock-map', 'import', 'none.txt', '--asof', 'x', '--tag', 't'],
      ['namespace', 'suspend', 'cli', 'maybe'],
    ]) {
      assert.equal(await codeOf(...line), 2, line.join(' '));
    }
  });

  it('says that a server name has no address, instead of ending with a stack', async () => {
    const { code, errors } = await runCli(['query', 'a.b.c.v1', '--server', 'nosuchhost.invalid'], env);
    assert.equal(code, 1);
    assert.match(errors, /nosuchhost\.invalid/);
    assert.doesNotMatch(errors, /\n {4}at /);
  });

  it('says where a port belongs that stands in --server', async () => {
    for (const [command, host] of [
      ['read', '127.0.0.1'],
      ['query', '[::1]'],
    ] as const) {
      const { code, errors } = await runCli([command, 'get.a.b.v1', '--server', `${host}:25300`], env);
      assert.deepEqual([code, errors], [2, '--server takes an address or a name alone: add --port 25300\n']);
    }
    assert.match(
      (await runCli(['query', 'get.a.b.v1', '--server', '::1', '--port', '1', '--tcp'], env)).errors,
      /\[::1\]:1/,
    );
  });

  it('asks whether the server is running when nothing listens', async () => {
    const { code, errors } = await runCli(['query', 'get.a.b.v1', '--port', '1', '--tcp'], env);
    assert.equal(code, 1);
    assert.match(errors, /is the server running on 127\.0\.0\.1:1\?\n$/);
  });

  it('ends with 1 for a bad line, and names it', async () => {
    const good = JSON.stringify({ key: 'a.cli.v1', data: 'aGk=' });
    const import_ = (text: string) => runCli(['import', 'cli', '-'], env, text);
    assert.equal((await import_(`${good}\n`)).code, 0);
    for (const [text, message] of [
      [`${good}\n{`, /^line 2 is not a JSON object\n$/],
      [`${JSON.stringify({ key: 'a.other.v1', data: '' })}\n`, /^line 1 has a key outside/],
      [`${JSON.stringify({ key: 'b.cli.v1', data: 'no base64' })}\n`, /^from line 1: /],
      [`${good}\n${'x'.repeat(8193)}\n`, /^line 2 is longer than 8192 octets\n$/],
    ] as const) {
      const { code, errors } = await import_(text);
      assert.equal(code, 1, errors);
      assert.match(errors, message);
    }
  });

  it('import takes the later of two lines with one key, as its dry run does', async () => {
    const lines = ['YQ==', 'Yg=='].map((data) => JSON.stringify({ key: 'Twice.cli.v1', data })).join('\n');
    for (const options of [['--dry-run'], []]) {
      const { code, errors } = await runCli(['import', 'cli', '-', ...options], env, lines);
      assert.deepEqual([code, errors], [0, '']);
    }
    assert.match((await runCli(['export', 'cli'], env)).out, /"twice\.cli\.v1","data":"Yg=="/);
  });

  it('import drops a record that ends while the file is read, and goes on', async () => {
    const line = (key: string, fromNow: number | null): string => {
      const at = fromNow === null ? null : new Date(Date.now() + fromNow).toISOString();
      return `${JSON.stringify({ key: `${key}.cli.v1`, data: 'aGk=', expires_at: at })}\n`;
    };
    for (const options of [['--dry-run'], []]) {
      const child = startCommand(process.execPath, [CLI, 'import', 'cli', '-', '--json', ...options], env);
      const end = ended(child);
      child.stdin!.write(line('gone', -1000) + line('soon', 3000));
      await new Promise((resolve) => setTimeout(resolve, 3100));
      child.stdin!.end(line('late', -50) + line('lasting', null));
      const { code, out, errors } = await end;
      assert.deepEqual([code, errors], [0, '']);
      if (options.length === 0) assert.equal(JSON.parse(out).records, 1);
    }
    assert.deepEqual((await runCli(['export', 'cli'], env)).out.match(/(gone|soon|late|lasting)\.cli\.v1/g), [
      'lasting.cli.v1',
    ]);
  });

  it('lists all namespaces with owners and flags', async () => {
    const [row] = JSON.parse((await runCli(['--json', 'namespace', 'list'], env)).out);
    assert.deepEqual(
      [row.name, row.owner, row.public_read, row.suspended],
      ['cli', 'cli@example.net', false, false],
    );
    assert.match(
      (await runCli(['namespace', 'list'], env)).out,
      /^NAME +OWNER +RECORDS +PUBLIC-READ +SUSPENDED +MAX-TTL +HISTORY +ID\ncli /,
    );
  });

  it('gives the help of the command that was named, with arguments, examples and the environment', async () => {
    const help = await runCli(['help', 'user', 'create'], env);
    assert.equal(help.code, 0);
    assert.match(help.out, /^Usage: uqrp user create \[options\] <email>\n/);
    assert.match(help.out, /email +mail address/);
    assert.match(help.out, /Examples:\n {2}uqrp user create/);
    assert.equal(help.out.match(/--json/g)?.length, 1);
    assert.match((await runCli(['--help'], env)).out, /UQRP_DATA_DIR.*\n.*Exit codes: 0 done, 1 /s);
  });

  it('ends quietly when the reader of its output goes away', () => {
    const script = `"${process.execPath}" "${CLI}" user list | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    assert.equal(stdout, '0\n');
  });

  it('takes files of the folder one stands in, by the function of the README', () => {
    const [, line] = /^(checkout=.*uqrp\(\) .*)$/m.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))!;
    const elsewhere = join(dir, 'another folder');
    mkdirSync(elsewhere);
    const script = `${line}\ncd "$1" && uqrp key new --sign shop.pem && uqrp key public shop.pem`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', elsewhere], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^shop\.pem: signing key /);
    assert.ok(existsSync(join(elsewhere, 'shop.pem')));
    assert.ok(!existsSync(join(ROOT, 'shop.pem')));
  });

  it('runs from bin/uqrp.js, and with an old Node through the one that npm installed', async (t) => {
    const bin = join(ROOT, 'bin', 'uqrp.js');
    const now = await ended(startCommand(process.execPath, [bin, '--version'], env));
    assert.equal(now.out, `${programVersion()}\n`);
    if (!hasOldNode() || !existsSync(join(ROOT, 'node_modules/.bin/node')))
      return t.skip('needs an old Node');
    assert.deepEqual(await ended(startCommand(SYSTEM_NODE, [bin, '--version'], env)), now);
    assert.equal((await ended(startCommand(SYSTEM_NODE, [bin, 'user', 'crate'], env))).code, 2);
  });

  it('says which Node is needed where there is only an old one', async (t) => {
    if (!hasOldNode()) return t.skip('needs an old Node');
    for (const name of ['bin', 'src', 'package.json'])
      cpSync(join(ROOT, name), join(dir, name), { recursive: true });
    const { code, errors } = await ended(
      startCommand(SYSTEM_NODE, [join(dir, 'bin/uqrp.js'), 'user', 'list'], env),
    );
    assert.equal(code, 1);
    assert.match(
      errors,
      /^uqrp needs a Node of \^22\.20\.0 \|\| >=24\.11\.0, and this is Node [\d.]+\. Install a newer Node, or run "npm ci"/,
    );
    assert.doesNotMatch(errors, /\n {4}at /);
  });
});

function hasOldNode(): boolean {
  const { stdout } = spawnSync(SYSTEM_NODE, ['--version'], { encoding: 'utf8' });
  return /^v(?:1[4-9]|2[01])\./.test(stdout ?? '');
}
