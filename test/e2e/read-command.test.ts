import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CLI, type Ended, runCli, settingsFor, startCommand } from '../support/command.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('the commands put over REST and read', () => {
  let server: Uqrp;
  let env: NodeJS.ProcessEnv;
  let owner: Account;
  let dir: string;
  let queryToken: string;
  /** All octets that a record may hold, more than a UDP reply carries. */
  const octets = Buffer.from(Array.from({ length: 2586 }, (_, i) => (i * 7 + (i >> 8)) & 255));

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-read-'));
    server = await startUqrp({ UQRP_WORKERS: '1' });
    owner = account(server, 'read@example.net', 'free');
    // Another data directory: these commands reach the server by its ports alone.
    env = {
      ...settingsFor(join(dir, 'none')),
      UQRP_HTTP_PORT: String(server.ports.http),
      UQRP_DNS_PORT: String(server.ports.dns),
      UQRP_TOKEN: owner.token,
    };
    const { body } = await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const { id } = body as { id: string };
    const minted = await owner.call('POST', `/namespaces/${id}/query_tokens`, { name: 'x' });
    queryToken = (minted.body as { token: string }).token;
    await owner.call('POST', '/namespaces', { namespace: { name: 'open' } });
    server.cli(['namespace', 'public-read', 'open', 'on']);
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}, input?: string): Promise<Ended> =>
    runCli(args, { ...env, ...more }, input);

  /** Standard output as octets. */
  async function octetsOf(args: readonly string[]): Promise<{ code: number | null; out: Buffer }> {
    const child = startCommand(process.execPath, [CLI, ...args], env);
    const parts: Buffer[] = [];
    child.stdout?.on('data', (part: Buffer) => parts.push(part));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out: Buffer.concat(parts) };
  }

  it('write with UQRP_TOKEN, without the data directory, and read the text exactly', async () => {
    const text = 'grüße "1"\n2';
    const put = await run(['put', 'Greeting.open.v1', text, '--expires', '1h', '--type', 'text/plain']);
    assert.deepEqual([put.code, put.out, put.errors], [0, 'greeting.open.v1: 13 bytes stored\n', '']);
    await eventually(async () => (await run(['read', 'greeting.open.v1'])).out === text);
    const whole = await run(['read', 'get.greeting.open.v1.uqrp.net', '--tcp']);
    assert.deepEqual([whole.code, whole.out, whole.errors], [0, text, '']);
    const json = JSON.parse((await run(['read', 'greeting.open.v1', '--json'])).out);
    assert.deepEqual([json.format, Buffer.from(json.data, 'base64').toString()], ['text', text]);
  });

  it('delete with UQRP_TOKEN, over REST and not in the store', async () => {
    await run(['put', 'gone.open.v1', 'x']);
    await eventually(async () => (await run(['read', 'gone.open.v1'])).out === 'x');
    const first = await run(['delete', 'gone.open.v1']);
    assert.deepEqual([first.code, first.out, first.errors], [0, 'gone.open.v1 deleted\n', '']);
    await eventually(async () => (await run(['read', 'gone.open.v1'])).code === 1);
    const again = await run(['delete', 'gone.open.v1']);
    assert.deepEqual([again.code, again.errors], [1, 'there is no record gone.open.v1\n']);
    const bad = await run(['delete', 'open.v1']);
    assert.equal(bad.code, 1);
    assert.match(bad.errors, /^key must /);
    const without = await run(['delete', 'gone.open.v1', '--api', 'http://localhost:1'], { UQRP_TOKEN: '' });
    assert.deepEqual([without.code, without.errors], [2, '--api needs UQRP_TOKEN\n']);
  });

  it('wait with --wait until the node has the record, and say which; --wait without a token is a wrong command line', async () => {
    const put = await run(['put', 'waited.open.v1', 'x', '--wait', '10s']);
    assert.deepEqual([put.code, put.errors], [0, '']);
    assert.match(put.out, /^waited\.open\.v1: 1 bytes stored\n\S+ \d+ ms\n$/);
    assert.equal((await run(['read', 'waited.open.v1'])).out, 'x');
    const { nodes } = JSON.parse((await run(['put', 'waited.open.v1', 'y', '--json', '--wait'])).out);
    assert.deepEqual([nodes.length, nodes[0].applied, nodes[0].late], [1, true, false]);
    assert.equal((await run(['read', 'waited.open.v1'])).out, 'y');
    const without = await run(['put', 'waited.open.v1', 'x', '--wait'], { UQRP_TOKEN: '' });
    assert.deepEqual(
      [without.code, without.errors],
      [2, '--wait needs UQRP_TOKEN, and neither --as, --user nor --public-read\n'],
    );
    for (const time of ['31s', '1h', 'x']) {
      assert.equal((await run(['put', 'waited.open.v1', 'x', '--wait', time])).code, 2, time);
    }
  });

  it('carry any octets of a file, over TCP when the UDP reply is cut short', async () => {
    const file = join(dir, 'octets');
    writeFileSync(file, octets);
    const put = await run(['put', 'octets.open.v1', '--file', file, '--json']);
    const { id, key, bytes } = JSON.parse(put.out);
    assert.deepEqual([typeof id, key, bytes], ['string', 'octets.open.v1', 2586]);
    await eventually(async () => (await octetsOf(['read', 'octets.open.v1'])).code === 0);
    assert.deepEqual((await octetsOf(['read', 'octets.open.v1'])).out, octets);
    assert.equal(JSON.parse((await run(['read', 'octets.open.v1', '--json'])).out).format, 'bin');

    assert.equal((await run(['put', 'stdin.open.v1', '--file', '-'], {}, 'from a pipe')).code, 0);
    await eventually(async () => (await run(['read', 'stdin.open.v1'])).out === 'from a pipe');
  });

  it('read a private record with a token, and show the token nowhere', async () => {
    assert.equal((await run(['put', 'a.acme.v1', 'private'])).code, 0);
    await eventually(
      async () => (await run(['read', 'a.acme.v1'], { UQRP_QUERY_TOKEN: queryToken })).out === 'private',
    );
    assert.equal((await run(['read', 'a.acme.v1', '--token', queryToken])).out, 'private');
    const none = await run(['read', 'a.acme.v1']);
    assert.deepEqual([none.code, none.out], [1, '']);
    assert.match(none.errors, /^a\.acme\.v1: REFUSED.* needs --token or UQRP_QUERY_TOKEN\.\n$/);
    for (const line of [
      ['read', 'absent.acme.v1', '--token', queryToken],
      ['read', `get.auth-${queryToken}.absent.acme.v1.uqrp.net`],
      ['read', `get.auth-${queryToken}.a.acme.v1.uqrp.net`, '--token', queryToken],
    ]) {
      const { code, out, errors } = await run(line);
      assert.ok(code === 1 || code === 2);
      assert.equal(out, '');
      assert.notEqual(errors, '');
      assert.ok(!errors.includes(queryToken), errors);
    }
    const bad = await run(['read', 'a.acme.v1'], { UQRP_QUERY_TOKEN: `${queryToken}-x` });
    assert.deepEqual([bad.code, bad.errors.includes(queryToken)], [2, false]);
  });

  it('end with 1 and a message when there is no record or no server', async () => {
    const absent = await run(['read', 'absent.open.v1']);
    assert.deepEqual(
      [absent.code, absent.out, absent.errors],
      [1, '', 'there is no record absent.open.v1\n'],
    );
    const fields = await run(['read', '100-km-to-mi.units.public.v1']);
    assert.deepEqual([fields.code, fields.out], [1, '']);
    assert.match(fields.errors, /has fields and no payload/);
    const silent = await run(['read', 'a.open.v1', '--server', '127.0.0.1', '--port', '1', '--tcp']);
    assert.match(silent.errors, /is the server running on 127\.0\.0\.1:1\?\n$/);
    assert.equal((await run(['read', 'no-key'])).code, 2);
  });

  it('say what the REST server refuses, without the token', async () => {
    const forged = 'forged-token-that-is-none';
    for (const [args, more, code, message] of [
      [['put', 'a.open.v1', 'x'], { UQRP_TOKEN: forged }, 1, /does not accept UQRP_TOKEN: /],
      [['put', 'a.open.v1', 'x'], { UQRP_TOKEN: `${forged}\n` }, 2, /^UQRP_TOKEN must be a token/],
      [['put', 'a.nosuch.v1', 'x'], {}, 1, /^key has a namespace that does not exist\n$/],
      [['put', 'a.open.v1', 'x'.repeat(2587)], {}, 1, /^data is longer than 2586 bytes\n$/],
      [['put', 'a.open.v1', '--file', join(dir, 'absent')], {}, 1, /there is no such file\n$/],
      [['put', 'a.open.v1'], {}, 2, /^put needs the text of the record, or --file FILE/],
      [['put', 'a.open.v1', 'x', '--file', 'f'], {}, 2, /^put takes either the text/],
      [
        ['put', 'a.open.v1', 'x'],
        { UQRP_HTTP_PORT: '1' },
        1,
        /^nothing listens on http:\/\/127\.0\.0\.1:1: /,
      ],
    ] as const) {
      const ended = await run(args, more);
      assert.match(ended.errors, message);
      assert.equal(ended.code, code, ended.errors);
      assert.ok(!ended.errors.includes(owner.token) && !ended.errors.includes(forged), ended.errors);
    }
  });

  it('write to the store, not over REST, with an option that only the store has', async () => {
    const local = { UQRP_DATA_DIR: server.dataDir, UQRP_TOKEN: 'forged-token-that-is-none' };
    const put = await run(['put', 'a.mine.v1', 'x', '--as', 'other@example.net', '--public-read'], local);
    assert.deepEqual([put.code, put.errors], [0, '']);
    await eventually(async () => (await run(['read', 'a.mine.v1'])).out === 'x');
    const api = ['--api', `http://localhost:${server.ports.http}`];
    assert.equal((await run(['put', 'a.mine.v1', 'x', '--as', 'other@example.net', ...api], local)).code, 2);
    assert.equal((await run(['put', 'again.open.v1', 'x', ...api], { UQRP_HTTP_PORT: '0' })).code, 0);
  });
});
