import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, newName, openWorld } from '../../../test/support/http/world.ts';
import { createUser, issueToken, listUsers, setTier } from '../accounts/rules.ts';
import { SESSION_LENGTH } from '../accounts/sessions.ts';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

apiScenarios('authentication', {
  '/me shows exactly the fields of docs/API.md': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await customer.record(`r.${name}.v1`);
    await customer.key();
    const { status, json } = await customer.get('/me');
    assert.equal(status, 200);
    assert.deepEqual(json, {
      id: customer.id,
      email: customer.email,
      role: 'user',
      records_count: 1,
      api_keys_count: 1,
      namespaces_count: 1,
      created_at: '2026-01-01T00:00:00.000Z',
    });
    await world.close();
  },

  'credentials that do not count': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [head, body, signature] = customer.token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const foreignKey = randomBytes(32);
    const hmac = createHmac('sha256', 'x')
      .update(`${encode({ alg: 'HS256' })}.${body}`)
      .digest('base64url');
    const foreign = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(foreignKey);
    const { privateKey } = generateKeyPairSync('ed25519');
    const header = { alg: 'EdDSA', kid: JSON.parse(Buffer.from(head, 'base64url').toString()).kid };
    const otherIssuer = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      customer.token,
      `Basic ${customer.token}`,
      `Bearer ${customer.token} x`,
      'Bearer nonsense',
      'Bearer a.b',
      'Bearer a.b.c.d',
      'Bearer ..',
      `Bearer ${'0'.repeat(63)}`,
      `Bearer ${'0'.repeat(64)}`,
      `Bearer ${'A'.repeat(64)}`,
      `Bearer ${'x'.repeat(5000)}`,
      `Bearer ${head}.${body}.${signature.slice(0, -2)}`,
      `Bearer ${head}.${encode({ ...claims, sub: world.deps.newId() })}.${signature}`,
      `Bearer ${encode({ alg: 'none' })}.${body}.`,
      `Bearer ${encode({ alg: 'none' })}.${body}.AA`,
      `Bearer ${encode({ alg: 'HS256' })}.${body}.${hmac}`,
      `Bearer ${foreign}`,
      `Bearer ${otherIssuer}`,
    ]) {
      const answer = await world.inject({ method: 'GET', url: '/api/v1/me', headers: { authorization } });
      const isBearer = /^Bearer( |$)/.test(authorization);
      const message = isBearer ? 'Credentials are not valid' : 'Authorization must be Bearer and a token';
      assertFailure(answer, 401, 'authentication_error', message);
    }
    const none = await world.caller(null).get('/me');
    assertFailure(none, 401, 'authentication_error', 'Credentials are missing');
    const lower = await world.inject({
      method: 'GET',
      url: '/api/v1/me',
      headers: { authorization: `bearer  ${customer.token}` },
    });
    assert.equal(lower.status, 200);
    assert.deepEqual(world.errors, []);
    await world.close();
  },

  'a JWT ends after twelve hours, and at once when its session is revoked': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    world.advance(SESSION_LENGTH - 1);
    assert.equal((await customer.get('/me')).status, 200);
    const { token } = await issueToken(world.deps, customer.email);
    world.advance(1);
    assertFailure(await customer.get('/me'), 401, 'authentication_error');
    const again = world.caller(token);
    assert.equal((await again.get('/me')).status, 200);
    assert.equal((await again.del('/auth/session')).status, 204);
    assertFailure(await again.get('/me'), 401, 'authentication_error');
    await world.close();
  },

  'processes that share the secret share the tokens': async (store) => {
    const [one, two] = [await openWorld(store), await openWorld(store)];
    const customer = await one.customer();
    assert.equal((await two.caller(customer.token).get('/me')).json.id, customer.id);
    await one.close();
    await two.close();
  },

  'the operator opens accounts, moves them between tiers and signs them in': async (store) => {
    const { deps, ...world } = await openWorld(store);
    const local = newName();
    const user = await createUser(deps, ` ${local.toUpperCase()}@Example.COM `, 'free');
    assert.deepEqual([user.email, user.tier, user.role], [`${local}@example.com`, 'free', 'user']);
    await assert.rejects(createUser(deps, `${local}@example.com`, 'pro'), {
      code: 'validation_error',
      messages: ['email has already been taken'],
    });
    for (const email of [
      '',
      'x',
      '@',
      'a@',
      '@b',
      'a b@c.d',
      'a@b c',
      `${'a'.repeat(250)}@b.cd`,
      'a\u0000@b.c',
    ]) {
      await assert.rejects(createUser(deps, email, 'pro'), { messages: ['email is not an email address'] });
    }
    const key = `${newName()}@example.com`;
    await assert.rejects(setTier(deps, key, 'pro'), { code: 'not_found' });
    await assert.rejects(issueToken(deps, key), { code: 'not_found' });
    await setTier(deps, user.email.toUpperCase(), 'team');
    const listed = (await listUsers(deps)).find(({ id }) => id === user.id);
    assert.deepEqual(listed, { ...user, tier: 'team' });
    const { token } = await issueToken(deps, user.email);
    assert.equal((await world.caller(token).get('/me')).json.id, user.id);
    await world.close();
  },
});
