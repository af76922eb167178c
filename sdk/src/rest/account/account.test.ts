import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { softwareAuthenticator } from '../../../../test/support/control/passkeys/authenticator.ts';
import { type TestServer, testServer } from '../../../../test/support/sdk/server.ts';
import { Uqrp } from '../uqrp.ts';

const ENDED = { status: 401, code: 'authentication_error' } as const;

describe('accounts on a server', () => {
  let server: TestServer;
  let nobody: Uqrp;
  before(async () => {
    server = await testServer();
    nobody = new Uqrp({ baseUrl: server.base });
  });

  it('sign-in by code: a code works once, and a wrong one is refused', async () => {
    const email = 'code@example.net';
    await nobody.auth.signIn(email);
    const code = await server.codeOf(email);
    const wrong = code === '000000' ? '000001' : '000000';
    await assert.rejects(nobody.auth.verify(email, wrong), ENDED);
    const session = await nobody.auth.verify(email, code);
    assert.deepEqual([session.token_type, session.user.email], ['Bearer', email]);
    assert.ok(Date.parse(session.expires_at) > Date.now());
    await assert.rejects(nobody.auth.verify(email, code), ENDED);
    await assert.rejects(nobody.auth.verify(email, '12'), { status: 422, code: 'validation_error' });
    await assert.rejects(nobody.auth.signIn('no address'), { status: 422 });
    const mine = nobody.withToken(session.token);
    assert.deepEqual(await mine.me(), session.user);
    await mine.auth.signOut();
    await assert.rejects(mine.me(), ENDED);
    await assert.rejects(nobody.me(), ENDED);
  });

  it('sessions are listed, ended one by one and all at once', async () => {
    const email = 'sessions@example.net';
    const first = await server.signIn(email);
    const second = await server.signIn(email);
    const listed = await second.sessions.list();
    assert.deepEqual(
      listed.map(({ method, current }) => [method, current]),
      [
        ['code', true],
        ['code', false],
      ],
    );
    await second.sessions.end(listed[1]?.id ?? '');
    await assert.rejects(first.me(), ENDED);
    await assert.rejects(second.sessions.end(listed[1]?.id ?? ''), { code: 'not_found' });
    await second.sessions.endAll();
    await assert.rejects(second.sessions.list(), ENDED);
    const key = await (await server.signIn(email)).apiKeys.create({ name: 'a' });
    await assert.rejects(nobody.withToken(key.token).sessions.list(), { code: 'authorization_error' });
  });

  it('passkeys are added, sign in and are removed', async () => {
    const mine = await server.signIn('passkeys@example.net');
    const authenticator = softwareAuthenticator(new URL(server.base).origin);
    const made = await mine.passkeys.create('laptop', authenticator.create(await mine.passkeys.options()));
    assert.deepEqual([made.name, made.last_used_at], ['laptop', null]);
    assert.deepEqual(await mine.passkeys.list(), [made]);
    const response = authenticator.get(await nobody.auth.passkeyOptions());
    const session = await nobody.auth.verifyPasskey(response);
    assert.equal(session.user.email, 'passkeys@example.net');
    await assert.rejects(nobody.auth.verifyPasskey(response), ENDED);
    const [newest] = await nobody.withToken(session.token).sessions.list();
    assert.equal(newest?.method, 'passkey');
    await mine.passkeys.delete(made.id);
    assert.deepEqual(await mine.passkeys.list(), []);
    const late = authenticator.get(await nobody.auth.passkeyOptions());
    await assert.rejects(nobody.auth.verifyPasskey(late), ENDED);
    await assert.rejects(mine.passkeys.create('x', {} as never), { status: 422 });
    await assert.rejects(mine.passkeys.add('x'), { name: 'TypeError', message: /need a browser/ });
    await assert.rejects(nobody.auth.signInWithPasskey(), { name: 'TypeError' });
  });

  it('a session can be a cookie: no token is in the answer, and the client sends none', async () => {
    const email = 'cookie@example.net';
    await nobody.auth.signIn(email);
    const code = await server.codeOf(email);
    const asked: (string | undefined)[] = [];
    let cookie = '';
    const page = new Uqrp({
      baseUrl: server.base,
      credentials: 'same-origin',
      fetch: async (url, init) => {
        asked.push(init.credentials);
        const headers = new Headers(init.headers);
        assert.equal(headers.get('authorization'), null);
        // What a browser adds to the request of a page.
        headers.set('cookie', cookie);
        headers.set('sec-fetch-site', 'same-origin');
        headers.set('origin', new URL(server.base).origin);
        const response = await fetch(url, { ...init, headers });
        const [set] = response.headers.getSetCookie();
        if (set !== undefined) cookie = set.split(';', 1)[0] ?? '';
        return response;
      },
    });
    const session = await page.auth.verify(email, code, { cookie: true });
    assert.deepEqual(Object.keys(session), ['expires_at', 'user']);
    assert.equal((await page.me()).email, email);
    await page.namespaces.create('cookie-tests');
    await page.auth.signOut();
    await assert.rejects(page.me(), ENDED);
    assert.deepEqual(new Set(asked), new Set(['same-origin']));
    assert.equal(page.withToken('t') instanceof Uqrp, true);
    const both = { baseUrl: server.base, token: 't', credentials: 'same-origin' } as const;
    assert.throws(() => new Uqrp(both), { name: 'TypeError', message: /either token or credentials/ });
  });

  it('organizations: members, invitations, and what a session acts for', async () => {
    const owner = await server.signIn('owner@example.net');
    const guest = await server.signIn('guest@example.net');
    const { id } = await owner.organizations.create('Acme');
    assert.equal((await owner.organizations.rename(id, 'Acme Ltd')).name, 'Acme Ltd');
    assert.deepEqual(await owner.organizations.get(id), (await owner.organizations.list())[0]);
    const invitation = { email: 'guest@example.net' };
    const withdrawn = await owner.organizations.invite(id, invitation);
    const old = await server.invitationOf(invitation.email);
    assert.deepEqual(await owner.organizations.invitations(id), [withdrawn]);
    await owner.organizations.withdrawInvitation(id, withdrawn.id);
    await assert.rejects(guest.organizations.acceptInvitation(old), { code: 'not_found' });
    await owner.organizations.invite(id, { ...invitation, role: 'member' });
    const token = await server.invitationOf(invitation.email);
    assert.equal((await guest.organizations.acceptInvitation(token)).role, 'member');
    const userId = (await guest.me()).id;
    assert.deepEqual(
      (await guest.organizations.members(id)).map(({ email, role }) => [email, role]),
      [
        ['owner@example.net', 'owner'],
        ['guest@example.net', 'member'],
      ],
    );
    await assert.rejects(guest.organizations.rename(id, 'x'), { code: 'authorization_error' });
    assert.equal((await owner.organizations.changeRole(id, userId, 'owner')).role, 'owner');
    assert.equal((await guest.organizations.actFor(id))?.id, id);
    await guest.namespaces.create('organization-tests');
    assert.equal((await guest.me()).organization?.name, 'Acme Ltd');
    assert.equal(await guest.organizations.actFor(null), null);
    assert.deepEqual(await guest.namespaces.list(), []);
    await owner.organizations.removeMember(id, userId);
    await assert.rejects(guest.organizations.get(id), { code: 'not_found' });
    await owner.organizations.delete(id);
    assert.deepEqual(await owner.organizations.list(), []);
  });

  it('an account is deleted with its address as proof', async () => {
    const email = 'leaves@example.net';
    const mine = await server.signIn(email);
    await assert.rejects(mine.deleteAccount('other@example.net'), { status: 422 });
    await mine.deleteAccount(email);
    await assert.rejects(mine.me(), ENDED);
    const again = await server.signIn(email);
    assert.deepEqual(await again.namespaces.list(), []);
  });

  it('a client without a credential gets 401, and an aborted call its reason', async () => {
    await assert.rejects(nobody.records.list().toArray(), ENDED);
    const signal = AbortSignal.abort(new Error('enough'));
    for (const call of [
      nobody.meta({ signal }),
      nobody.sessions.list({ signal }),
      nobody.passkeys.options({ signal }),
      nobody.organizations.members('a', { signal }),
      nobody.auth.verify('a@example.net', '123456', { signal }),
      nobody.namespaces.export('a', { signal }).next(),
      nobody.queryLogs.stream({}, { signal }).next(),
    ]) {
      await assert.rejects(call, { message: 'enough' });
    }
  });
});
