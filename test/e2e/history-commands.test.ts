import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Ended, runCli, settingsFor } from '../support/command.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

describe('the commands history, diff, restore-record, undo and export --at', () => {
  let server: Uqrp;
  let owner: Account;
  let env: NodeJS.ProcessEnv;
  let id: string;
  before(async () => {
    server = await startUqrp();
    owner = account(server, 'historian@example.net');
    env = {
      ...settingsFor(server.dataDir),
      UQRP_HTTP_PORT: String(server.ports.http),
      UQRP_TOKEN: owner.token,
    };
    const { body } = await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    ({ id } = body as { id: string });
    const history = { versions: 50, days: 5 };
    assert.equal((await owner.call('PATCH', `/namespaces/${id}`, { namespace: { history } })).status, 200);
  });
  after(() => server.remove());

  const run = (...args: string[]): Promise<Ended> => runCli(args, env);
  const put = (key: string, value: string): Promise<string> => putAll([key], value);
  const putAll = async (keys: readonly string[], value: string): Promise<string> => {
    const data = Buffer.from(value).toString('base64');
    const response = await fetch(`${owner.base}/records/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ records: keys.map((key) => ({ key, data, content_type: 'application/json' })) }),
    });
    assert.equal(response.status, 200);
    return response.headers.get('x-service-seq')!;
  };
  const dataOf = async (key: string): Promise<string | null> => {
    const { body } = await owner.call('GET', `/records?key=${key}`);
    const [record] = body as { data: string }[];
    return record === undefined ? null : Buffer.from(record.data, 'base64').toString();
  };

  it('list, compare, restore and undo', async () => {
    const key = 'limits.flags.acme.v1';
    await put(key, '{"seats":5}');
    const then = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await put(key, '{"seats":6}');
    const last = await put(key, '{"seats":7,"beta":true}');
    const listed = await run('history', key.toUpperCase());
    assert.equal(listed.errors, '');
    assert.deepEqual(
      listed.out
        .trim()
        .split('\n')
        .map((line) => [line.split(/\s+/)[0], line.includes('present')]),
      [
        ['3', true],
        ['2', false],
        ['1', false],
      ],
    );
    assert.equal(JSON.parse((await run('history', key, '--json')).out).length, 3);

    assert.equal((await run('diff', key, '1', '2')).out, '  {\n-   "seats": 5\n+   "seats": 6\n  }\n');
    assert.equal((await run('diff', key, '3')).out, 'equal\n');
    const json = JSON.parse((await run('diff', key, '1', '--json')).out);
    assert.deepEqual(json.lines, ['  {', '-   "seats": 5', '+   "seats": 7,', '+   "beta": true', '  }']);
    assert.match((await run('diff', key, '9')).errors, /Version not found/);
    assert.equal((await run('diff', key, 'x')).code, 2);
    const never = await run('diff', 'never.flags.acme.v1', '1');
    assert.deepEqual([never.code, never.errors], [1, 'never.flags.acme.v1: no record, and no versions\n']);

    assert.equal((await run('restore-record', key, '--to', '1')).out, `${key}: as in version 1\n`);
    assert.equal(await dataOf(key), '{"seats":5}');
    const late = await run('undo', last);
    assert.deepEqual([late.code, late.errors.includes(`changed after the write: ${key}`)], [1, true]);
    assert.equal((await run('delete', key)).code, 0);
    assert.match((await run('diff', key, '1')).errors, /no record\. restore-record makes it again/);
    assert.equal((await run('restore-record', key, '--to', '2')).code, 0);
    assert.equal(await dataOf(key), '{"seats":6}');
    const undoable = await put(key, '{}');
    assert.equal((await run('undo', undoable)).out, `${key}: as before\n`);
    assert.equal(await dataOf(key), '{"seats":6}');
    const made = await put('other.flags.acme.v1', '{}');
    assert.equal((await run('undo', made, '--namespace', 'acme')).out, 'other.flags.acme.v1: deleted\n');

    const taken = await run('export', 'acme', '--at', then);
    assert.equal(taken.errors, '');
    const exported = taken.out.trim().split('\n');
    assert.deepEqual(
      exported.map((line) => JSON.parse(line).data),
      [Buffer.from('{"seats":5}').toString('base64')],
    );
    assert.match(
      (await run('export', 'acme', '--at', '2020-01-01T00:00:00Z')).errors,
      /before the history begins/,
    );
    const without = await runCli(['history', key], { ...env, UQRP_TOKEN: '' });
    assert.deepEqual([without.code, without.errors.includes('UQRP_TOKEN')], [2, true]);
  });

  it('undo goes through all namespaces of a write, past one that refuses and one that is suspended', async () => {
    for (const name of ['before', 'middle', 'quiet']) {
      const made = (await owner.call('POST', '/namespaces', { namespace: { name } })).body as { id: string };
      const history = { versions: 5, days: 5 };
      await owner.call('PATCH', `/namespaces/${made.id}`, { namespace: { history } });
    }
    const keys = ['k.acme.v1', 'k.before.v1', 'k.middle.v1'];
    await putAll(keys, '1');
    const write = await putAll(keys, '2');
    await put('k.before.v1', '3');
    server.cli(['namespace', 'suspend', 'quiet', 'on']);

    const done = await run('undo', write);
    assert.deepEqual(done, {
      code: 1,
      signal: null,
      out: 'k.acme.v1: as before\nk.middle.v1: as before\n',
      errors: 'before: changed after the write: k.before.v1\n',
    });
    assert.deepEqual(await Promise.all(keys.map(dataOf)), ['1', '3', '1']);

    server.cli(['namespace', 'suspend', 'quiet', 'off']);
    const both = await putAll(['k.middle.v1', 'k.quiet.v1'], '4');
    server.cli(['namespace', 'suspend', 'quiet', 'on']);
    const partly = await run('undo', both, '--json');
    assert.deepEqual(JSON.parse(partly.out), { restored: ['k.middle.v1'], deleted: [] });
    assert.deepEqual([partly.code, partly.errors], [1, 'quiet: Namespace is suspended\n']);
  });
});
