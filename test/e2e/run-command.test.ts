import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { encryptPayload, readKeyFile } from '../../sdk/src/encryption.ts';
import { openKnownGood, sealKnownGood } from '../../sdk/src/last-known-good.ts';
import { CLI, type Ended, ended, runCli, settingsFor, startCommand } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

const SECRET = 'postgres://u:p4ssw0rd@db';
const HOUR_MS = 3_600_000;

describe('uqrp run', () => {
  let server: Uqrp;
  let owner: Account;
  let dir: string;
  let env: NodeJS.ProcessEnv;
  let ports: NodeJS.ProcessEnv;
  let dataDir: string;
  let keyId: string;

  const start = async (): Promise<void> => {
    server = await startUqrp({ ...ports, UQRP_WORKERS: '1' }, dataDir);
  };
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-run-'));
    dataDir = join(dir, 'data');
    ports = { UQRP_HTTP_PORT: String(await freePort()) };
    await start();
    owner = account(server, 'run@example.net');
    for (const name of ['shop', 'twice', 'empty']) {
      await owner.call('POST', '/namespaces', { namespace: { name } });
    }
    await put('database-url.env.shop.v1', SECRET);
    await put('motto.env.shop.v1', 'grüße\n"x" $HOME');
    await put('dark-mode.flags.shop.v1', '{}');
    await put('a-b.env.twice.v1', 'x');
    await put('a.b.env.twice.v1', 'y');
    await newKey();
    env = { ...settingsFor(join(dir, 'none')), ...ports, XDG_STATE_HOME: join(dir, 'state') };
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });
  beforeEach(() => {
    env = { ...env, XDG_STATE_HOME: mkdtempSync(join(dir, 'state-')), UQRP_TOKEN: key };
  });

  let key = '';
  const newKey = async (): Promise<void> => {
    const { status, body } = await owner.call('POST', '/api_keys', {
      api_key: {
        name: `run ${Math.random()}`,
        scopes: { operations: ['read'], namespaces: ['shop', 'twice', 'empty'] },
      },
    });
    assert.equal(status, 201, JSON.stringify(body));
    ({ id: keyId, token: key } = body as { id: string; token: string });
  };
  const put = async (name: string, text: string): Promise<void> => {
    const data = Buffer.from(text).toString('base64');
    const { status } = await owner.call('POST', '/records/bulk', {
      records: [{ key: name, data, content_type: 'text/plain' }],
    });
    assert.ok(status < 300, String(status));
  };
  const SHOP = ['run', '--namespace', 'shop', '--resource', 'env'];
  const run = (...args: string[]): Promise<Ended> => runCli([...SHOP, ...args], env);
  const shell = (script: string, ...options: string[]): Promise<Ended> =>
    run(...options, '--', 'sh', '-c', script);
  const startShell = (script: string, ...options: string[]): ChildProcess =>
    startCommand(process.execPath, [CLI, ...SHOP, ...options, '--', 'sh', '-c', script], env);
  const copies = (): string[] => {
    const folder = join(env.XDG_STATE_HOME!, 'uqrp');
    return readdirSync(folder).map((name) => join(folder, name));
  };
  /** Makes the copy as old as if it had been saved then. */
  const age = async (milliseconds: number): Promise<void> => {
    const [path = ''] = copies();
    const known = await openKnownGood(key, new Uint8Array(readFileSync(path)));
    assert.ok(known !== null);
    writeFileSync(path, await sealKnownGood(key, { ...known, saved: Date.now() - milliseconds }));
  };
  /** Runs while the server is stopped. */
  const away = async (task: () => Promise<void>): Promise<void> => {
    await server.stop();
    try {
      await task();
    } finally {
      await start();
    }
  };
  const textOf = (child: ChildProcess): (() => string) => {
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (part: Buffer) => {
        text += part.toString();
      });
    }
    return () => text;
  };

  it('gives a program the payloads as variables, octet for octet, without the token', async () => {
    const { code, out, errors } = await shell(
      'printf "%s|%s|%s|%s" "$DATABASE_URL" "$MOTTO" "$DARK_MODE" "$UQRP_TOKEN"',
    );
    assert.deepEqual([code, out, errors], [0, `${SECRET}|grüße\n"x" $HOME||`, '']);
    const kept = await shell('printf %s "$UQRP_TOKEN"', '--keep-token');
    assert.equal(kept.out, key);
    // Without --resource those of every resource; arguments behind -- are the program's own.
    const all = await runCli(
      ['run', '--namespace', 'SHOP', '--', 'printenv', '--', 'DARK_MODE', '--json'],
      env,
    );
    assert.equal(all.out, '{}\n');
    const umask = await shell('umask');
    assert.equal(umask.out, (await ended(startCommand('sh', ['-c', 'umask'], {}))).out);
  });

  it('ends with the exit code of the program, and passes signals on', async () => {
    assert.equal((await shell('exit 7')).code, 7);
    assert.equal((await shell('kill -KILL $$')).code, 137);
    assert.deepEqual(
      [(await run('--', '/no/such')).code, (await run('--', '/no/such')).errors],
      [127, '/no/such: there is no such program\n'],
    );
    assert.equal((await run('--', '/etc/passwd')).code, 126);
    for (const [signal, number] of [
      ['SIGTERM', 15],
      ['SIGINT', 2],
      ['SIGHUP', 1],
      ['SIGUSR1', 10],
      ['SIGQUIT', 3],
    ] as const) {
      const child = startShell(`trap "echo got; exit 40" ${number}; echo on; while :; do sleep 0.05; done`);
      const text = textOf(child);
      await eventually(async () => text().includes('on'));
      child.kill(signal);
      const [code] = await once(child, 'exit');
      assert.deepEqual([code, text()], [40, 'on\ngot\n'], signal);
    }
    const untrapped = startShell('echo on; exec sleep 60');
    const text = textOf(untrapped);
    await eventually(async () => text().includes('on'));
    untrapped.kill('SIGTERM');
    assert.deepEqual(await once(untrapped, 'exit'), [143, null]);
  });

  it('starts nothing when names or values cannot be variables, and shows no value', async () => {
    const twice = await runCli(['run', '--namespace', 'twice', '--', 'echo', 'started'], env);
    assert.deepEqual(
      [twice.code, twice.out, twice.errors],
      [1, '', 'a.b.env.twice.v1: it would be A_B, as a-b.env.twice.v1 is\n'],
    );
    await put('node-options.bad.shop.v1', '--require=/tmp/p4ssw0rd');
    const args = ['run', '--namespace', 'shop', '--resource', 'bad'];
    const refused = await runCli([...args, '--', 'echo', 'started'], env);
    assert.deepEqual([refused.code, refused.out], [1, '']);
    assert.match(
      refused.errors,
      /^node-options\.bad\.shop\.v1: it would be NODE_OPTIONS, .*--allow NODE_OPTIONS\n$/,
    );
    const allowed = await runCli(
      [...args, '--allow', 'PATH,NODE_OPTIONS', '--', 'printenv', 'NODE_OPTIONS'],
      env,
    );
    assert.equal(allowed.out, '--require=/tmp/p4ssw0rd\n');
    const none = await runCli(['run', '--namespace', 'empty', '--', 'echo', 'started'], env);
    assert.deepEqual([none.code, none.out, none.errors], [0, 'started\n', 'no records in empty\n']);
    assert.equal((await runCli(['run', '--', 'true'], env)).code, 2);
    assert.equal((await run('--max-age', 'long', '--', 'true')).code, 2);
    assert.equal((await run('--offline', '--on-change', 'hup', '--', 'true')).code, 2);
  });

  it('shows no value and no token in ps, in messages, or in its copy, which is for its user alone', async () => {
    const child = startShell('echo on; exec sleep 60');
    const text = textOf(child);
    await eventually(async () => text().includes('on'));
    const ps = await ended(startCommand('ps', ['-eo', 'args'], {}));
    assert.match(ps.out, /sleep 60/);
    for (const secret of ['p4ssw0rd', key]) assert.ok(!ps.out.includes(secret) && !text().includes(secret));
    const [path = '', ...others] = copies();
    assert.deepEqual(others, []);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(env.XDG_STATE_HOME!, 'uqrp')).mode & 0o777, 0o700);
    const octets = readFileSync(path);
    assert.equal(octets.subarray(0, 8).toString(), 'UQRPLKG1');
    for (const secret of ['p4ss', key, 'shop', 'database', Buffer.from(SECRET).toString('base64')])
      assert.ok(!octets.includes(secret) && !path.includes(secret));
    child.kill('SIGTERM');
    await once(child, 'close');
  });

  it('server away: a copy younger than --max-age starts the program, and an older one does not', async () => {
    assert.equal((await shell('true')).code, 0);
    await away(async () => {
      const young = await shell('printf %s "$DATABASE_URL"');
      assert.deepEqual([young.code, young.out], [0, SECRET]);
      assert.match(young.errors, /\nvalues of \d\d:\d\d, \d+ s old\n$/);
      assert.match((await shell('true', '--offline')).errors, /^values of \d\d:\d\d, \d+ s old\n$/);
      await age(3 * HOUR_MS + 60_000);
      const older = await shell('printf %s "$DATABASE_URL"');
      assert.deepEqual([older.code, older.out], [0, SECRET]);
      assert.match(older.errors, /\nvalues of (?:\d{4}-\d\d-\d\d )?\d\d:\d\d, 3 h old\n$/);
      for (const more of [[], ['--offline']]) {
        const old = await shell('echo started', '--max-age', '3h', ...more);
        assert.deepEqual([old.code, old.out], [1, '']);
        assert.match(old.errors, /the copy is 3 h old, older than --max-age\n$/);
      }
      await age(25 * HOUR_MS);
      assert.equal((await shell('echo started')).code, 1);
      const week = await shell('true', '--max-age', '7d');
      assert.equal(week.code, 0);
      assert.match(week.errors, /values of \d{4}-\d\d-\d\d \d\d:\d\d, 1 d old/);
    });
  });

  it('server away: without a copy, with a damaged or a foreign one nothing starts', async () => {
    assert.equal((await shell('true')).code, 0);
    const [path = ''] = copies();
    const good = readFileSync(path);
    const refuses = async (reason: RegExp): Promise<void> => {
      const { code, out, errors } = await shell('echo started');
      assert.deepEqual([code, out], [1, '']);
      assert.match(errors, reason);
    };
    await away(async () => {
      for (const at of [0, 20, 30, good.length - 1]) {
        const damaged = Buffer.from(good);
        damaged[at] = damaged[at]! ^ 1;
        writeFileSync(path, damaged);
        await refuses(at === 0 ? /is no last known good file/ : /there is no copy/);
      }
      writeFileSync(path, good);
      chmodSync(path, 0o640);
      await refuses(/chmod 600/);
      chmodSync(path, 0o600);
      assert.equal((await shell('true')).code, 0);
      const other = await runCli([...SHOP, '--', 'true'], { ...env, UQRP_TOKEN: 'another-token' });
      assert.deepEqual(
        [other.code, other.errors.split('\n')[1]],
        [1, 'there is no copy of the values that UQRP_TOKEN opens'],
      );
      rmSync(path);
      await refuses(/there is no copy/);
    });
    // With the server back a damaged copy is replaced.
    writeFileSync(path, 'damaged');
    assert.equal((await shell('true')).code, 0);
    assert.equal((await shell('true', '--offline')).code, 0);
  });

  it('401 and 403: nothing starts, and the copy is gone: a revoked key ends there', async () => {
    assert.equal((await shell('true')).code, 0);
    assert.equal(copies().length, 1);
    const { status } = await owner.call('DELETE', `/api_keys/${keyId}`);
    assert.ok(status < 300);
    const revoked = await shell('echo started');
    assert.deepEqual([revoked.code, revoked.out], [1, '']);
    assert.match(revoked.errors, /does not accept UQRP_TOKEN/);
    assert.deepEqual(copies(), []);
    assert.equal((await shell('echo started', '--offline')).code, 1);
    await newKey();
    env = { ...env, UQRP_TOKEN: key };
    assert.equal((await shell('true')).code, 0);
  });

  it('--key decrypts the values, keeps them encrypted in its copy, and refuses an older one', async () => {
    const file = join(dir, 'shop.key');
    assert.equal((await runCli(['key', 'new', file], env)).code, 0);
    const [first] = await readKeyFile(readFileSync(file, 'utf8'));
    const write = async (name: string, text: string, after: number): Promise<void> => {
      const data = Buffer.from(await encryptPayload(first, name, Buffer.from(text), { after }));
      const record = { key: name, data: data.toString('base64'), content_type: 'application/octet-stream' };
      const { status } = await owner.call('POST', '/records/bulk', { records: [record] });
      assert.ok(status < 300);
    };
    await write('db.sealed.shop.v1', SECRET, Date.now() + 60_000);
    const args = ['run', '--namespace', 'shop', '--resource', 'sealed', '--key', file];
    const sealed = (...more: string[]) => runCli([...args, ...more, '--', 'printenv', 'DB'], env);
    const { code, out } = await sealed();
    assert.deepEqual([code, out], [0, `${SECRET}\n`]);
    assert.equal((await sealed('--offline')).out, `${SECRET}\n`);
    const known = await openKnownGood(key, new Uint8Array(readFileSync(copies()[0] ?? '')));
    const text = known?.entries.get('db.sealed.shop.v1')?.text ?? '';
    assert.match(text, /^v=svc1;s=ok;t=data;e=b64;f=bin;ttl=300;d=A/);
    assert.equal(text.includes(Buffer.from(SECRET).toString('base64').slice(0, 8)), false);
    await write('db.sealed.shop.v1', 'old', 0);
    const old = await sealed();
    assert.deepEqual(
      [old.code, old.out, old.errors],
      [1, '', 'db.sealed.shop.v1: older than a value that was read before\n'],
    );
    assert.equal((await sealed('--offline')).out, `${SECRET}\n`);
    const plain = await run('--key', file, '--', 'true');
    assert.deepEqual(
      [plain.code, /database-url\.env\.shop\.v1: not encrypted/.test(plain.errors)],
      [1, true],
    );
    assert.equal((await run('--key', file, '--allow-plain', '--', 'true')).code, 0);
    assert.doesNotMatch(old.errors + plain.errors, /p4ss/);
  });

  it('a namespace that is mistyped or gone: nothing starts, and the copy is gone', async () => {
    const inNamespace = (name: string, ...options: string[]): Promise<Ended> =>
      runCli(['run', '--namespace', name, ...options, '--', 'sh', '-c', 'echo started'], {
        ...env,
        UQRP_TOKEN: owner.token,
      });
    const [body, path] = [{ namespace: { name: 'passing' } }, '/namespaces'];
    const { id } = (await owner.call('POST', path, body)).body as { id: string };
    await put('a.env.passing.v1', 'one');
    assert.equal((await shell('true')).code, 0);
    const before = copies();
    assert.equal((await inNamespace('passing')).out, 'started\n');
    assert.equal(copies().length, before.length + 1);
    await owner.call('DELETE', `/namespaces/${id}`);
    for (const name of ['passing', 'nowhere']) {
      const { code, out, errors } = await inNamespace(name);
      assert.deepEqual([code, out, errors], [1, '', `UQRP_TOKEN reaches no namespace ${name}\n`]);
    }
    assert.deepEqual(copies(), before);
    assert.equal((await inNamespace('passing', '--offline')).code, 1);
  });

  for (const [how, expected] of [
    ['restart', 'start one term start two'],
    ['hup', 'start one hup'],
    ['ignore', 'start one'],
  ] as const) {
    it(`--on-change ${how} acts on a change of a value, and on no other one`, async () => {
      await put('mode.env.shop.v1', 'one');
      const script =
        'trap "echo term; exit 0" TERM; trap "echo hup" HUP; echo start $MODE; while :; do sleep 0.05; done';
      const child = startShell(script, '--on-change', how);
      const text = textOf(child);
      await eventually(async () => text().includes('start one'));
      // What concerns no value of ours changes nothing.
      await put('other.flags.shop.v1', String(Math.random()));
      await put('mode.env.shop.v1', 'one');
      await sleep(1000);
      assert.equal(text(), 'start one\n');
      await put('mode.env.shop.v1', 'two');
      await (how === 'ignore'
        ? sleep(1500)
        : eventually(async () => text().split('\n').length > (how === 'hup' ? 2 : 3)));
      assert.equal(text().trim().replaceAll('\n', ' '), expected);
      child.kill('SIGTERM');
      await once(child, 'close');
    });
  }
});
