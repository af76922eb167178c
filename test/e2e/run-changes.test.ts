import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLI, runCli, settingsFor, startCommand } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { proxyTo } from '../support/http/proxy.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

const LOOP = 'while :; do sleep 0.05; done';

describe('uqrp run while things change', () => {
  let server: Uqrp;
  let owner: Account;
  let dir: string;
  let env: NodeJS.ProcessEnv;
  let ports: NodeJS.ProcessEnv;
  let space: string;
  let namespaceId: string;
  let running: ChildProcess[] = [];

  const start = async (): Promise<void> => {
    server = await startUqrp({ ...ports, UQRP_WORKERS: '1' }, join(dir, 'data'));
  };
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-run-changes-'));
    ports = { UQRP_HTTP_PORT: String(await freePort()) };
    await start();
    owner = account(server, 'run@example.net');
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });
  afterEach(() => {
    for (const child of running) child.kill('SIGTERM');
  });
  let count = 0;
  beforeEach(async () => {
    space = `space-${++count}`;
    const { body } = await owner.call('POST', '/namespaces', { namespace: { name: space } });
    namespaceId = (body as { id: string }).id;
    await put('mode', 'one');
    const { token } = await newKey(['read']);
    env = {
      ...settingsFor(join(dir, 'none')),
      ...ports,
      XDG_STATE_HOME: mkdtempSync(join(dir, 'state-')),
      UQRP_TOKEN: token,
    };
    running = [];
  });

  const newKey = async (operations: string[]): Promise<{ id: string; token: string }> => {
    const { body } = await owner.call('POST', '/api_keys', {
      api_key: { name: `run ${Math.random()}`, scopes: { operations, namespaces: [space] } },
    });
    return body as { id: string; token: string };
  };
  const put = async (name: string, text: string, settings = {}): Promise<void> => {
    const key = `${name}.env.${space}.v1`;
    const record = { key, data: Buffer.from(text).toString('base64'), ...settings };
    const { status } = await owner.call('POST', '/records/bulk', { records: [record] });
    assert.ok(status < 300, String(status));
  };
  const startShell = (script: string, ...options: string[]): { child: ChildProcess; text: () => string } => {
    const line = [CLI, 'run', '--namespace', space, ...options, '--', 'sh', '-c', script];
    const child = startCommand(process.execPath, line, env);
    running.push(child);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (part: Buffer) => {
        text += part.toString();
      });
    }
    return { child, text: () => text };
  };
  const stop = async (child: ChildProcess): Promise<unknown> => {
    const end = once(child, 'close');
    child.kill('SIGTERM');
    return (await end)[0];
  };
  const copies = (): readonly string[] => readdirSync(join(env.XDG_STATE_HOME!, 'uqrp'));
  const runs = (script: string) => runCli(['run', '--namespace', space, '--', 'sh', '-c', script], env);

  it('a key that is revoked meanwhile: the program goes on, the copy goes, and a start is refused', async () => {
    const { id, token } = await newKey(['read']);
    env = { ...env, UQRP_TOKEN: token };
    const { child, text } = startShell(`echo on; ${LOOP}`, '--on-change', 'restart');
    await eventually(async () => text().includes('on\n'));
    assert.equal(copies().length, 1);
    await owner.call('DELETE', `/api_keys/${id}`);
    // The request that waits for changes ends with the next one.
    await put('mode', 'two');
    await eventually(async () => text().includes('changes are not followed any more: '));
    assert.match(text(), /does not accept UQRP_TOKEN/);
    assert.deepEqual(copies(), []);
    assert.equal(child.exitCode, null);
    assert.equal(await stop(child), 143);
    const refused = await runs('echo started');
    assert.deepEqual([refused.code, refused.out], [1, '']);
  });

  it('a key that may not read, or reaches another namespace, starts nothing and removes the copy', async () => {
    assert.equal((await runs('true')).code, 0);
    const { token } = await newKey(['write']);
    env = { ...env, UQRP_TOKEN: token };
    const writer = await runs('echo started');
    assert.deepEqual([writer.code, writer.out], [1, '']);
    const args = ['run', '--namespace', 'not-there', '--', 'echo', 'started'];
    const none = await runCli(args, env);
    assert.deepEqual([none.code, none.out], [1, '']);
  });

  it('started from its copy it takes the new values when the server is back', async () => {
    assert.equal((await runs('true')).code, 0);
    await put('mode', 'two');
    await server.stop();
    const script = `trap "exit 0" TERM; echo start $MODE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart');
    await eventually(async () => text().includes('start one'));
    assert.match(text(), /^nothing listens on .*\nvalues of \d\d:\d\d, \d+ (?:s|min) old\nstart one\n$/);
    await start();
    await eventually(async () => text().endsWith('start two\n'));
    await stop(child);
    // The copy has them, too.
    const offline = ['run', '--namespace', space, '--offline', '--', 'printenv', 'MODE'];
    assert.equal((await runCli(offline, env)).out, 'two\n');
  });

  it('starts from its copy, and goes on to follow, when a proxy answers in place of the server (404 of a proxy)', async () => {
    await using proxy = await proxyTo(server.ports.http);
    const through = ['--api', proxy.base];
    const shown = ['run', '--namespace', space, ...through, '--', 'printenv', 'MODE'];
    assert.equal((await runCli(shown, env)).out, 'one\n');
    for (const status of [400, 401, 403, 404, 408]) {
      proxy.answer(status);
      const { code, out, errors } = await runCli(shown, env);
      assert.deepEqual([code, out], [0, 'one\n'], String(status));
      assert.match(errors, /\nvalues of \d\d:\d\d, \d+ s old\n$/);
    }
    const script = `trap "exit 0" TERM; echo start $MODE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart', ...through);
    await eventually(async () => text().endsWith('start one\n'));
    proxy.answer(null);
    await put('mode', 'two');
    await eventually(async () => text().endsWith('start two\n'));
    const before = proxy.answered;
    proxy.answer(404);
    await eventually(async () => proxy.answered > before);
    proxy.answer(null);
    await put('mode', 'three');
    await eventually(async () => text().endsWith('start three\n'));
    assert.equal(await stop(child), 0);
  });

  it('goes on through a restart of the server, and sees what changed meanwhile', async () => {
    const script = `trap "exit 0" TERM; echo start $MODE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart');
    await eventually(async () => text() === 'start one\n');
    await server.stop();
    await start();
    await put('mode', 'three');
    await eventually(async () => text() === 'start one\nstart three\n');
    await stop(child);
  });

  it('a value that changes there and back starts the program again each time', async () => {
    const script = `trap "exit 0" TERM; echo start $MODE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart');
    let expected = '';
    for (const value of ['one', 'two', 'one', 'two']) {
      if (expected !== '') await put('mode', value);
      expected += `start ${value}\n`;
      await eventually(async () => text() === expected);
    }
    await stop(child);
  });

  it('keeps its values when the new ones cannot be variables, or when there are none left', async () => {
    const script = `trap "exit 0" TERM; echo start $MODE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart');
    await eventually(async () => text() === 'start one\n');
    await put('path', '/tmp/p4ss');
    await eventually(async () => text().includes('the program keeps its values: path.env.'));
    assert.doesNotMatch(text(), /p4ss/);
    const { body } = await owner.call('GET', `/records?namespace=${space}`);
    for (const { id } of body as { id: string }[]) await owner.call('DELETE', `/records/${id}`);
    await eventually(async () => text().includes('there are no records any more'));
    await put('mode', 'four');
    await eventually(async () => text().endsWith('start four\n'));
    await owner.call('DELETE', `/namespaces/${namespaceId}`);
    await eventually(async () => text().includes('changes are not followed any more'));
    assert.equal(child.exitCode, null);
    await stop(child);
  });

  for (const [what, refuse, again, fault] of [
    [
      'a value with an octet 0',
      () => put('mode', '\0'),
      () => put('mode', '\0', { ttl_seconds: 77 }),
      'octet 0',
    ],
    [
      'no records',
      () => owner.call('POST', '/records/bulk', { delete: [`mode.env.${space}.v1`] }),
      () => owner.call('PATCH', `/namespaces/${namespaceId}`, { namespace: { max_ttl: 120 } }),
      'there are no records any more',
    ],
  ] as const) {
    it(`${what}, and a further write: the next start in an outage has the last good values (refused values in the copy)`, async () => {
      const { child, text } = startShell(
        `trap "exit 0" TERM; echo start $MODE; ${LOOP}`,
        '--on-change',
        'restart',
      );
      await eventually(async () => text() === 'start one\n');
      for (const [n, write] of [refuse, again].entries()) {
        await write();
        await eventually(async () => text().split(fault).length === n + 2);
      }
      // What waits to be written is written at the end.
      assert.equal(await stop(child), 0);
      const offline = ['run', '--namespace', space, '--offline', '--', 'printenv', 'MODE'];
      assert.equal((await runCli(offline, env)).out, 'one\n');
    });
  }

  it('a signal that stops it during a restart stops the program for good', async () => {
    // Each SIGTERM makes it say so; it ends when the file is there.
    const gate = join(dir, 'gate');
    const script = `trap "echo ending; until test -e ${gate}; do sleep 0.05; done; exit 5" TERM; echo start $MODE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart');
    await eventually(async () => text() === 'start one\n');
    await put('mode', 'two');
    await eventually(async () => text() === 'start one\nending\n');
    const end = stop(child);
    await eventually(async () => text() === 'start one\nending\nending\n');
    writeFileSync(gate, '');
    assert.equal(await end, 5);
    assert.doesNotMatch(text(), /start two/);
  });

  it('several changes at once start the program again once', async () => {
    const script = `trap "exit 0" TERM; echo start $MODE $MORE; ${LOOP}`;
    const { child, text } = startShell(script, '--on-change', 'restart');
    await eventually(async () => text() === 'start one\n');
    const record = (name: string) => ({ key: `${name}.env.${space}.v1`, data: 'eA==' });
    await owner.call('POST', '/records/bulk', { records: [record('mode'), record('more')] });
    await eventually(async () => text().endsWith('start x x\n'));
    await sleep(1000);
    assert.equal(text(), 'start one\nstart x x\n');
    await stop(child);
  });
});
