import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { browserMissing } from '../../test/support/control/passkeys/browser.ts';
import { type BrowserPage, openPage } from '../../test/support/sdk/browser-page.ts';
import { type TestServer, testServer } from '../../test/support/sdk/server.ts';

const EMAIL = 'page@example.net';
const missing = browserMissing();

describe('the client in a page of the server', { skip: missing ?? false }, () => {
  let server: TestServer;
  let page: BrowserPage;
  before(async () => {
    server = await testServer();
    page = await openPage(new URL(server.base).origin);
  });
  after(() => page?.close());

  it('signs in by code with a cookie that no script sees, and writes', async () => {
    await page.run(`uqrp.auth.signIn('${EMAIL}')`);
    const code = await server.codeOf(EMAIL);
    const session = await page.run(`uqrp.auth.verify('${EMAIL}', '${code}', { cookie: true })`);
    assert.equal(session.user.email, EMAIL);
    assert.equal(session.token, undefined);
    assert.equal(await page.run('document.cookie'), '');
    await page.run(`uqrp.namespaces.create('page-tests')`);
    const put = await page.run(`uqrp.records.put('a.b.page-tests.v1', { text: 'grüße' })`);
    assert.equal(await page.run(`uqrp.records.get('${put.id}').then(sdk.textOf)`), 'grüße');
    assert.equal(await page.run('uqrp.records.list().toArray().then((all) => all.length)'), 1);
    const error = `uqrp.records.create('a.b.page-tests.v1', { text: 'x' }).catch((error) => error instanceof sdk.ApiError && error.code)`;
    assert.equal(await page.run(error), 'validation_error');
  });

  it('adds a passkey, and signs in with it', async () => {
    const made = await page.run(`uqrp.passkeys.add('laptop')`);
    assert.equal(made.name, 'laptop');
    await page.run('uqrp.auth.signOut()');
    assert.equal(await page.run('uqrp.me().catch((error) => error.status)'), 401);
    const session = await page.run('uqrp.auth.signInWithPasskey({ cookie: true })');
    assert.deepEqual([session.user.email, session.token], [EMAIL, undefined]);
    const sessions = await page.run('uqrp.sessions.list()');
    assert.deepEqual([sessions[0].method, sessions[0].current], ['passkey', true]);
  });

  it('opens the stream of the query log, and ends it with a signal', async () => {
    const ended = await page.run(`(async () => {
      const ending = new AbortController();
      const event = uqrp.queryLogs.stream({}, { signal: ending.signal }).next();
      setTimeout(() => ending.abort(new Error('enough')), 50);
      return event.catch((error) => error.message);
    })()`);
    assert.equal(ended, 'enough');
  });

  it('verifies webhooks, and makes keys of requests where there is no randomUUID', async () => {
    const reason = `sdk.verifyWebhookAsync('{}', 't=1,v1=${'0'.repeat(64)}', '${'0'.repeat(64)}').catch((error) => error.reason)`;
    assert.equal(await page.run(reason), 'no_match');
    const name = await page.run(
      `(crypto.randomUUID = undefined, uqrp.apiKeys.create({ name: 'a' }).then(({ name }) => name))`,
    );
    assert.equal(name, 'a');
  });
});
