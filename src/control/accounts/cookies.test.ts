import assert from 'node:assert/strict';
import { codeFor, newEmail, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import type { OpenApi } from '../../../test/support/http/openapi/document.ts';
import {
  type Answer,
  assertFailure,
  openWorld,
  PUBLIC_URL,
  type World,
} from '../../../test/support/http/world.ts';

const NAME = '__Host-uqrp_session';
const OWN = { 'sec-fetch-site': 'same-origin', origin: PUBLIC_URL };
const FOREIGN = `Requests with a session cookie must come from a page of ${PUBLIC_URL}`;

type Headers = Readonly<Record<string, string>>;

/** Signs a new user in by cookie. */
async function withCookie(world: World): Promise<{ email: string; cookie: string; token: string }> {
  const email = newEmail();
  const { status, json, headers } = await verify(world, email, await codeFor(world, email), { cookie: true });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json).toSorted(), ['expires_at', 'user']);
  const set =
    [headers['set-cookie'] ?? []]
      .flat()
      .map(String)
      .find((text) => text.startsWith(`${NAME}=`)) ?? '';
  const [pair = '', ...attributes] = set.split('; ');
  assert.deepEqual(attributes, ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict', 'Secure']);
  assert.ok(pair.startsWith(`${NAME}=`));
  return { email, cookie: pair, token: pair.slice(NAME.length + 1) };
}

const send = (world: World, method: string, path: string, headers: Headers, body?: object): Promise<Answer> =>
  world.caller(null).send(method, path, body, headers);

apiScenarios('session cookies', {
  'a cookie session reads and writes from our own pages, and signing out clears it': async (store) => {
    const world = await openWorld(store);
    const { email, cookie } = await withCookie(world);
    for (const site of [undefined, 'same-origin', 'none']) {
      const headers = { cookie: `theme=dark; ${cookie}`, ...(site && { 'sec-fetch-site': site }) };
      const { status, json } = await send(world, 'GET', '/me', headers);
      assert.deepEqual([status, json.email], [200, email]);
    }
    const body = { namespace: { name: `c${Date.now().toString(36)}` } };
    assert.equal((await send(world, 'POST', '/namespaces', { cookie, ...OWN }, body)).status, 201);
    const out = await send(world, 'DELETE', '/auth/session', { cookie, ...OWN });
    assert.equal(out.status, 204);
    assert.match(String(out.headers['set-cookie']), /^__Host-uqrp_session=; Path=\/; Max-Age=0; /);
    assertFailure(await send(world, 'GET', '/me', { cookie, ...OWN }), 401, 'authentication_error');
    await world.close();
  },

  'other sites read nothing with it, and a bearer counts before it': async (store) => {
    const world = await openWorld(store);
    const [one, two] = [await withCookie(world), await withCookie(world)];
    for (const site of ['cross-site', 'same-site', 'same-origin, same-origin', '']) {
      const answer = await send(world, 'GET', '/me', { cookie: one.cookie, 'sec-fetch-site': site });
      assertFailure(answer, 401, 'authentication_error', 'Credentials are missing');
    }
    const both = { cookie: one.cookie, authorization: `Bearer ${two.token}`, 'sec-fetch-site': 'cross-site' };
    assert.equal((await send(world, 'GET', '/me', both)).json.email, two.email);
    // A bearer needs no headers of a browser, and an invalid one is not replaced by the cookie.
    assert.equal((await send(world, 'DELETE', '/auth/session', both)).status, 204);
    assertFailure(await send(world, 'GET', '/me', { ...both, ...OWN }), 401, 'authentication_error');
    await world.close();
  },

  'every unsafe operation refuses a request that is not from our own page': async (store) => {
    const world = await openWorld(store);
    const { cookie } = await withCookie(world);
    const document = (await world.caller(null).get('/openapi.json')).json as OpenApi;
    const requests: Headers[] = [
      {},
      { origin: PUBLIC_URL },
      { 'sec-fetch-site': 'same-origin' },
      { origin: PUBLIC_URL, 'sec-fetch-site': 'same-site' },
      { origin: PUBLIC_URL, 'sec-fetch-site': 'cross-site' },
      { origin: PUBLIC_URL, 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      { origin: `${PUBLIC_URL}.evil.example`, 'sec-fetch-site': 'same-origin' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
      { origin: PUBLIC_URL.replace('https', 'http'), 'sec-fetch-site': 'same-origin' },
    ];
    let tried = 0;
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (!['post', 'patch', 'delete', 'put'].includes(method)) continue;
        const { security } = operation as { security?: readonly unknown[] };
        if (security?.length === 0) continue;
        const url = path.replace(/^\/api\/v1/, '').replace(/\{[^}]+\}/g, world.deps.newId());
        for (const headers of requests) {
          const answer = await send(world, method.toUpperCase(), url, { cookie, ...headers });
          assertFailure(answer, 403, 'authorization_error', FOREIGN);
        }
        tried += 1;
      }
    }
    assert.ok(tried > 15, String(tried));
    assert.equal((await send(world, 'GET', '/me', { cookie })).status, 200);
    await world.close();
  },

  'a page of another site cannot sign its visitors in': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const body = { email, code: await codeFor(world, email), cookie: true };
    for (const headers of [
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
    ]) {
      assertFailure(
        await send(world, 'POST', '/auth/verify', headers as Headers, body),
        403,
        'authorization_error',
      );
    }
    assert.equal((await send(world, 'POST', '/auth/verify', OWN, body)).status, 200);
    await world.close();
  },

  'what is no session cookie, and smuggled headers': async (store) => {
    const world = await openWorld(store);
    const { cookie, token } = await withCookie(world);
    for (const text of [
      `${cookie}; ${cookie}`,
      `${NAME}=x; ${cookie}`,
      `uqrp_session=${token}`,
      `${NAME.toLowerCase()}=${token}`,
      `${NAME}=`,
      `${NAME}="${token}"`,
      `${NAME}=${token}x`,
      `${NAME}=${'0'.repeat(64)}`,
      `a${cookie}`,
    ]) {
      assertFailure(await send(world, 'GET', '/me', { cookie: text, ...OWN }), 401, 'authentication_error');
    }
    // An API key is no session, and the token of a session counts in no other header.
    for (const headers of [
      { 'x-authorization': `Bearer ${token}` },
      { 'proxy-authorization': `Bearer ${token}` },
    ]) {
      assertFailure(await send(world, 'GET', '/me', headers as Headers), 401, 'authentication_error');
    }
    for (const origin of [{ 'x-forwarded-host': 'evil.example' }, { host: 'evil.example' }]) {
      const foreign = { cookie, 'sec-fetch-site': 'same-origin', origin: 'https://evil.example', ...origin };
      assertFailure(
        await send(world, 'DELETE', '/sessions', foreign as Headers),
        403,
        'authorization_error',
        FOREIGN,
      );
    }
    await world.close();
  },
});
