import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('sign-in at a server without mail', () => {
  let server: Uqrp;
  let printed = '';
  before(async () => {
    server = await startUqrp({ UQRP_WORKERS: '1', UQRP_REST_RATE: 'off' });
    server.child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  });
  after(() => server.remove());

  const send = (method: string, path: string, body?: object, token?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.ports.http}/api/v1${path}`, {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });

  async function signIn(email: string): Promise<string> {
    assert.equal((await send('POST', '/auth/sign_in', { email })).status, 202);
    const line = new RegExp(`^(\\d{6}) is the sign-in code of ${email},`, 'm');
    await eventually(async () => line.test(printed));
    const code = line.exec(printed)![1];
    const answer = await send('POST', '/auth/verify', { email, code });
    assert.equal(answer.status, 200);
    return ((await answer.json()) as { token: string }).token;
  }

  it('prints the code on stdout, lists and ends sessions, and deletes the account', async () => {
    const email = 'grace@example.net';
    const token = await signIn(email);
    assert.equal((await send('GET', '/me', undefined, token)).status, 200);
    assert.match(server.cli(['user', 'sessions', email]), /\scode\s+\S+Z\s+\S+Z\s+\S+Z/);
    assert.equal(server.cli(['user', 'sessions', email, '--end']), `1 sessions of ${email} ended\n`);
    assert.equal((await send('GET', '/me', undefined, token)).status, 401);
    const again = server.cli(['user', 'token', email]).trim();
    const name = 'graces';
    assert.equal((await send('POST', '/namespaces', { namespace: { name } }, again)).status, 201);
    assert.match(server.cli(['user', 'delete', email]), /^grace@example\.net deleted/);
    assert.equal((await send('GET', '/me', undefined, again)).status, 401);
    assert.equal(server.cli(['user', 'list', '--json']).trim(), '[]');
    // The running server frees the name.
    server.cli(['user', 'create', 'other@example.net']);
    const other = server.cli(['user', 'token', 'other@example.net']).trim();
    await eventually(async () => {
      const { status } = await send('POST', '/namespaces', { namespace: { name } }, other);
      return status === 201;
    }, 15_000);
  });
});
