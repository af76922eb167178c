import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CLI, runCli, settingsFor, startCommand } from '../support/command.ts';
import { reply, type Step, scripted } from '../support/sdk/scripted-server.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('uqrp watch', () => {
  let server: Uqrp;
  let env: NodeJS.ProcessEnv;
  let owner: Account;
  let dir: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-watch-'));
    server = await startUqrp({ UQRP_WORKERS: '1' });
    owner = account(server, 'watch@example.net', 'free');
    env = {
      ...settingsFor(join(dir, 'none')),
      UQRP_HTTP_PORT: String(server.ports.http),
      UQRP_TOKEN: owner.token,
    };
    for (const name of ['acme', 'other']) await owner.call('POST', '/namespaces', { namespace: { name } });
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const put = async (key: string): Promise<void> => {
    const { status } = await owner.call('POST', '/records', { record: { key, data: '' } });
    assert.equal(status, 201);
  };
  const watch = (...args: string[]): ChildProcess =>
    startCommand(process.execPath, [CLI, 'watch', ...args], env);
  const stop = async (child: ChildProcess): Promise<void> => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  const linesOf = (file: string): string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

  it('goes on after the last change whose command ended well, also after a kill', async () => {
    const [state, seen] = [join(dir, 'cursor'), join(dir, 'seen')];
    const args = ['acme', '--state', state, '--exec', `echo "$UQRP_EVENT $UQRP_KEY" >> ${seen}`];
    const umask = process.umask(0o026);
    const first = watch(...args);
    process.umask(umask);
    await eventually(async () => existsSync(state));
    await put('a.acme.v1');
    await put('a.other.v1');
    await put('b.acme.v1');
    await eventually(async () => linesOf(seen).length === 2);
    await stop(first);
    assert.equal(statSync(state).mode & 0o777, 0o600);
    // What the command makes has the umask of the shell: others may read it.
    assert.equal(statSync(seen).mode & 0o777, 0o640);
    await put('c.acme.v1');
    const second = watch(...args);
    await eventually(async () => linesOf(seen).at(-1) === 'record.upserted c.acme.v1');
    await put('d.acme.v1');
    await eventually(async () => linesOf(seen).at(-1) === 'record.upserted d.acme.v1');
    await stop(second);
    // A kill between the end of a command and the keeping of its place lets its change come again.
    assert.deepEqual(
      [...new Set(linesOf(seen))],
      ['a', 'b', 'c', 'd'].map((key) => `record.upserted ${key}.acme.v1`),
    );
  });

  it('runs a command that fails again for the same change, and keeps no place for it', async () => {
    const [state, seen, gate] = [join(dir, 'cursor2'), join(dir, 'seen2'), join(dir, 'gate')];
    const child = watch('acme', '--state', state, '--exec', `echo "$UQRP_KEY" >> ${seen}; test -e ${gate}`);
    await eventually(async () => existsSync(state));
    const before = readFileSync(state, 'utf8');
    await put('e.acme.v1');
    await put('f.acme.v1');
    await eventually(async () => linesOf(seen).length >= 2);
    assert.equal(readFileSync(state, 'utf8'), before);
    writeFileSync(gate, '');
    await eventually(async () => linesOf(seen).at(-1) === 'f.acme.v1');
    await eventually(async () => readFileSync(state, 'utf8') !== before);
    await stop(child);
    assert.deepEqual([...new Set(linesOf(seen))], ['e.acme.v1', 'f.acme.v1']);
  });

  it('keeps a cursor that is given only once the server knows it, and takes an empty file for none (mktemp)', async () => {
    const [state, seen] = [join(dir, 'cursor3'), join(dir, 'seen3')];
    writeFileSync(state, '');
    const args = ['acme', '--state', state, '--exec', `echo "$UQRP_KEY" >> ${seen}`];
    const first = watch(...args);
    await eventually(async () => readFileSync(state, 'utf8') !== '');
    await stop(first);
    const stored = readFileSync(state, 'utf8');
    const bad = await runCli(['watch', ...args, '--since', 'x'], env);
    assert.deepEqual([bad.code, bad.errors], [1, 'since is not a cursor of this account\n']);
    assert.equal(readFileSync(state, 'utf8'), stored);
    await put('h.acme.v1');
    rmSync(state);
    const given = watch(...args, '--since', stored.trim());
    await eventually(async () => linesOf(seen).at(-1) === 'h.acme.v1');
    await eventually(async () => existsSync(state) && readFileSync(state, 'utf8') !== stored);
    await stop(given);
  });

  it('keeps a cursor that is given before the first change comes (ended in a quiet hour, the next run lost changes)', async () => {
    const [from, state, seen] = [join(dir, 'from'), join(dir, 'cursor4'), join(dir, 'seen4')];
    const first = watch('acme', '--state', from);
    await eventually(async () => existsSync(from));
    await stop(first);
    const since = readFileSync(from, 'utf8').trim();
    const page = reply(200, { changes: [], next: since, has_more: false });
    // No change comes: who waits for one gets no answer.
    await using silent = await scripted((response, seen) => {
      if (!/[?&]wait=[1-9]/.test(seen.url)) page(response, seen);
    });
    const quiet = watch('acme', '--since', since, '--state', state, '--api', silent.base);
    await eventually(async () => existsSync(state));
    await stop(quiet);
    await put('i.acme.v1');
    const next = watch('acme', '--state', state, '--exec', `echo "$UQRP_KEY" >> ${seen}`);
    await eventually(async () => linesOf(seen).at(-1) === 'i.acme.v1');
    await stop(next);
    assert.deepEqual(linesOf(seen), ['i.acme.v1']);
  });

  it('goes on when a proxy answers in place of the server, also when changes are missing (404 of a proxy)', async () => {
    const page = (next: string, changes: readonly object[] = []): Step =>
      reply(200, { changes, next, has_more: false });
    const nobody = (status: number): Step => reply(status, '<html>no backend</html>');
    const change = { cursor: 'c', event: 'record.deleted', key: 'a.acme.v1', at: 'now', namespace: 'acme' };
    await using proxy = await scripted(
      nobody(404),
      reply(410, { error: 'since is older than the feed keeps', code: 'validation_error' }),
      nobody(410),
      page('b'),
      page('c', [change]),
      reply(403, { error: 'not yours', code: 'authorization_error' }),
    );
    const { code, out, errors } = await runCli(['watch', 'acme', '--since', 'a', '--api', proxy.base], env);
    assert.deepEqual([code, out], [1, 'reset acme\nnow record.deleted a.acme.v1\n']);
    assert.deepEqual(errors.replaceAll(proxy.base, 'ORIGIN').split('\n'), [
      'ORIGIN is no REST server of uqrp: it answered with HTTP status 404',
      'changes are missing (since is older than the feed keeps): read everything again',
      'ORIGIN is no REST server of uqrp: it answered with HTTP status 410',
      'not yours',
      '',
    ]);
    const cursors = proxy.seen.map(({ url }) => new URL(url, proxy.base).searchParams.get('since'));
    assert.deepEqual(cursors, ['a', 'a', null, null, 'b', 'c']);
  });

  it('prints changes as lines or as JSON, and says what is wrong with its token or cursor', async () => {
    const child = watch('acme', '--json');
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    for (let i = 0; !text.includes('\n'); i++) {
      await put(`g${i}.acme.v1`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await stop(child);
    const row = JSON.parse(text.split('\n')[0]!);
    assert.deepEqual([row.event, row.namespace], ['record.upserted', 'acme']);
    const run = (args: string[], more: NodeJS.ProcessEnv) => runCli(['watch', ...args], { ...env, ...more });
    const without = await run([], { UQRP_TOKEN: '' });
    assert.deepEqual(
      [without.code, without.errors],
      [2, 'set UQRP_TOKEN to an API key, or to what uqrp user token EMAIL prints\n'],
    );
    const bad = await run(['--since', 'x'], {});
    assert.deepEqual([bad.code, bad.errors], [1, 'since is not a cursor of this account\n']);
    const refused = await run([], { UQRP_TOKEN: '0'.repeat(64) });
    assert.equal(refused.code, 1);
    assert.match(refused.errors, /does not accept UQRP_TOKEN/);
  });
});
