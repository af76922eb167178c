import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { type Ended, runCli, settingsFor } from '../support/command.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

describe('the command audit', () => {
  let server: Uqrp;
  let owner: Account;
  let env: NodeJS.ProcessEnv;
  before(async () => {
    server = await startUqrp();
    owner = account(server, 'auditor@example.net');
    env = { ...settingsFor(server.dataDir), UQRP_HTTP_PORT: String(server.ports.http) };
    await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const record = { key: 'greeting.acme.v1', data: 'aGk=' };
    assert.equal((await owner.call('POST', '/records', { record })).status, 201);
  });
  after(() => server.remove());

  const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> =>
    runCli(['audit', ...args], { ...env, ...more });
  const lines = ({ out, errors }: Ended): string[] => {
    assert.equal(errors, '');
    return out.trim().split('\n');
  };

  it('shows an owner what was done, with a token', async () => {
    const token = { UQRP_TOKEN: owner.token };
    const all = lines(await run([], token));
    assert.match(all[0]!, /^\S+Z +auditor@example\.net +record\.created +greeting\.acme\.v1$/);
    assert.match(all[1]!, /namespace\.created +acme$/);
    assert.match(all[2]!, /operator +sign_in\.done/);
    assert.equal(lines(await run(['--action', 'record.*', '--since', '1d'], token)).length, 1);
    assert.equal(lines(await run(['--limit', '2'], token)).length, 2);
    assert.deepEqual(lines(await run(['--key', 'other.acme.v1'], token)), ['no rows']);
    const [row] = JSON.parse((await run(['--json', '--limit', '1'], token)).out);
    assert.equal(row.object.name, 'greeting.acme.v1');
    assert.match((await run(['--action', 'x'], token)).errors, /action is not an action/);
    assert.equal((await run(['--limit', '0'], token)).code, 2);
    assert.equal((await run(['--since', '3w'], token)).code, 2);
    assert.equal((await run(['--names'], token)).code, 2);
    assert.equal((await run([])).code, 2, 'no UQRP_TOKEN');
  });

  it('shows the operator kinds, actions and times; names where asked; and leaves a row each time', async () => {
    const look = await run(['--user', 'auditor@example.net', '--action', 'record.*']);
    assert.match(lines(look)[0]!, /^\S+Z +user +record\.created +record$/);
    const json = (await run(['--user', 'Auditor@example.net', '--json'])).out;
    assert.equal(/acme|auditor@/.test(json), false);
    assert.equal(JSON.parse(json)[0].action, 'operator.audit_read');
    const named = lines(await run(['--user', 'auditor@example.net', '--names', '--action', 'record.*']));
    assert.match(named[0]!, /auditor@example\.net +record\.created +greeting\.acme\.v1$/);
    const { body } = await owner.call('GET', '/audit?action=operator.audit_read');
    assert.equal((body as { audit: unknown[] }).audit.length, 3);
    assert.match((await run(['--user', 'nobody@example.net'])).errors, /User not found/);
    assert.equal((await runCli(['export', 'acme'], env)).code, 0);
    const exported = await owner.call('GET', '/audit?action=namespace.exported');
    const [row] = (exported.body as { audit: { actor: object; object: { name: string } }[] }).audit;
    assert.deepEqual([row?.actor, row?.object.name], [{ kind: 'operator', id: null, name: null }, 'acme']);
  });
});

describe('a crash of the server', () => {
  it('leaves each write with its row, and no row without its write', async () => {
    let server = await startUqrp();
    const { dataDir } = server;
    const owner = account(server, 'crash@example.net');
    await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const answered: string[] = [];
    for (let round = 0; round < 3; round++) {
      const base = `http://127.0.0.1:${server.ports.http}/api/v1`;
      let count = 0;
      const exit = new Promise((resolve) => server.child.once('exit', resolve));
      const write = async (client: number): Promise<void> => {
        for (let i = 0; ; i++) {
          const record = { key: `r${round}-${client}-${i}.acme.v1`, data: 'aGk=' };
          const answer = await fetch(`${base}/records`, {
            method: 'POST',
            headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
            body: JSON.stringify({ record }),
          }).catch(() => null);
          if (answer === null) return;
          assert.equal(answer.status, 201);
          answered.push(answer.headers.get('x-request-id')!);
          if (++count === 40) server.child.kill('SIGKILL');
        }
      };
      await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(write));
      await exit;
      server = await startUqrp({}, dataDir);
    }
    await server.stop();
    const database = new DatabaseSync(`${dataDir}/uqrp.sqlite`, { readOnly: true });
    const idsOf = (sql: string): unknown[] =>
      database
        .prepare(sql)
        .all()
        .map(({ id }) => id);
    const written = new Set(idsOf('select id from records'));
    const rows = database
      .prepare("select request_id, object_id as id from audit_log where action = 'record.created'")
      .all();
    database.close();
    assert.deepEqual(new Set(rows.map(({ id }) => id)), written);
    assert.equal(rows.length, written.size);
    const requests = new Set(rows.map(({ request_id }) => request_id));
    assert.ok(answered.length >= 120);
    assert.ok(answered.every((id) => requests.has(id)));
    await server.remove();
  });
});
