/** What the server does for a browser at its port: the session cookie, the address, the live stream over a restart. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import packet from 'dns-packet';
import { type Browser, chromium, type Page } from 'playwright-core';
import { eventually } from '../e2e/client.ts';
import { browserTest } from '../support/browser/dashboard.ts';
import { browserMissing, CHROMIUM } from '../support/control/passkeys/browser.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';

browserTest('origin', (get) => {
  it('a session over plain http at localhost is a cookie that scripts cannot read, and outlives a reload', async () => {
    const { page, origin, signIn, context } = get();
    await signIn();
    const cookies = await context.cookies(origin);
    assert.ok(cookies.some(({ name }) => name === 'uqrp_session'));
    // Besides the session: the flow of the sign-in, and the memory of the browser.
    for (const { name, httpOnly, sameSite } of cookies) {
      assert.match(name, /^uqrp_(?:session|flow|browser)$/);
      assert.deepEqual([httpOnly, sameSite], [true, 'Strict'], name);
    }
    assert.equal(await page.evaluate('document.cookie'), '');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('the loopback address leads to localhost, where passkeys work', async () => {
    const { page, origin, server, allow } = get();
    allow(/foreign request: http:\/\/127\.0\.0\.1/);
    const path = '/namespaces?x=1';
    await page.goto(`http://127.0.0.1:${server.ports.http}${path}`);
    assert.equal(new URL(page.url()).origin, origin);
    assert.equal(await page.evaluate('isSecureContext'), true);
  });

  it('DNS is asked on the same origin, under the policy of the page', async () => {
    const { page } = get();
    const name = 'get.100-km-to-mi.units.public.v1.uqrp.net';
    const { status, text } = await page.evaluate(async (asked) => {
      const answer = await fetch(`/resolve?name=${asked}&type=TXT`);
      return { status: answer.status, text: await answer.text() };
    }, name);
    assert.equal(status, 200);
    assert.match(text, /res=62\.1371192237/);
  });
});

interface StreamState {
  readonly isOpen: boolean;
  readonly isClosed: boolean;
  readonly rows: readonly { readonly id: string; readonly status: string }[];
}

describe('dashboard: streams and other addresses', { skip: browserMissing() ?? false }, () => {
  it('says at another address that nobody can sign in there, and where', async () => {
    const server = await startUqrp();
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--no-sandbox', '--host-resolver-rules=MAP uqrp.example 127.0.0.1'],
    });
    try {
      const page = await browser.newPage();
      await page.goto(`http://uqrp.example:${server.ports.http}/sign-in`);
      const note = page.getByRole('alert');
      await note.waitFor();
      const text = await note.innerText();
      assert.ok(text.includes(`http://localhost:${server.ports.http}`), text);
      // What the server would answer.
      const refusal = await page.evaluate(async () => {
        const body = JSON.stringify({ email: 'a@example.net', code: '000000', cookie: true });
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch('/api/v1/auth/verify', { method: 'POST', headers, body });
        return { status: answer.status, text: await answer.text() };
      });
      assert.equal(refusal.status, 403);
      assert.ok(refusal.text.includes(`http://localhost:${server.ports.http}`), refusal.text);
    } finally {
      await browser.close();
      await server.remove();
    }
  });

  it('an EventSource goes on after a restart where it was, is limited, and ends with its session', async () => {
    const first = await startUqrp();
    let server: Uqrp = first;
    const port = String(first.ports.http);
    const email = 'ada@example.net';
    const owner = account(first, email);
    await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    first.cli(['namespace', 'public-read', 'acme', 'on']);
    const browser: Browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      const origin = `http://localhost:${port}`;
      await page.goto(`${origin}/sign-in`);
      // The session of a browser is this token in a cookie.
      await page
        .context()
        .addCookies([
          { name: 'uqrp_session', value: owner.token, url: origin, httpOnly: true, sameSite: 'Strict' },
        ]);
      await follow(page, 'one');
      await eventually(async () => (await stateOf(page, 'one')).isOpen);
      await query(server);
      await eventually(async () => (await stateOf(page, 'one')).rows.length === 1);

      await server.stop();
      const env = { UQRP_HTTP_PORT: port };
      server = await startUqrp(env, first.dataDir);
      // Before the browser has connected again: it must come by Last-Event-ID, or live.
      await query(server);
      await eventually(async () => (await stateOf(page, 'one')).rows.length === 2);
      await query(server);
      await eventually(async () => (await stateOf(page, 'one')).rows.length === 3);
      const { rows } = await stateOf(page, 'one');
      assert.equal(new Set(rows.map(({ id }) => id)).size, 3, 'no row comes twice');

      for (const name of ['two', 'three']) await follow(page, name);
      // Both: the one that comes last is refused.
      for (const name of ['two', 'three']) await eventually(async () => (await stateOf(page, name)).isOpen);
      await follow(page, 'four');
      await eventually(async () => (await stateOf(page, 'four')).isClosed);

      server.cli(['user', 'sessions', email, '--end']);
      for (const name of ['one', 'two', 'three']) {
        await eventually(async () => (await stateOf(page, name)).isClosed);
      }
    } finally {
      await browser.close();
      await server.remove();
    }
  });
});

/** Keeps what an EventSource of the page gets. */
function follow(page: Page, name: string): Promise<unknown> {
  return page.evaluate(`{
    const source = new EventSource('/api/v1/query_logs/stream');
    const rows = [];
    globalThis.streams = { ...globalThis.streams, ${name}: { source, rows } };
    source.onmessage = (event) => rows.push({ id: event.lastEventId, status: JSON.parse(event.data).status });
  }`);
}

function stateOf(page: Page, name: string): Promise<StreamState> {
  return page.evaluate(`{
    const { source, rows } = globalThis.streams.${name};
    ({ isOpen: source.readyState === 1, isClosed: source.readyState === 2, rows });
  }`);
}

/** One query over UDP for a name of the namespace. */
async function query({ ports }: Uqrp): Promise<void> {
  const socket = createSocket('udp4');
  const asked = packet.encode({
    id: 1,
    type: 'query',
    questions: [{ type: 'TXT', name: 'get.nothing.acme.v1.uqrp.net' }],
  });
  socket.send(asked, ports.dns, '127.0.0.1');
  await once(socket, 'message');
  socket.close();
}
