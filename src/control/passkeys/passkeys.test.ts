import assert from 'node:assert/strict';
import { softwareAuthenticator } from '../../../test/support/control/passkeys/authenticator.ts';
import {
  assertInvalid,
  assertRefused,
  creationOptions,
  ENDED,
  FIVE_MINUTES,
  NOT_VALID,
  register,
  requestOptions,
  signIn,
} from '../../../test/support/control/passkeys/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { limiterOf } from '../../../test/support/http/server-parts.ts';
import {
  type Answer,
  assertFailure,
  created,
  openWorld,
  PUBLIC_URL,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';

apiScenarios('passkeys', {
  'a passkey is added, listed, signs in and is removed': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const options = await creationOptions(customer);
    assert.deepEqual(
      { ...options, challenge: '', user: { ...options.user, id: '' } },
      {
        challenge: '',
        rp: { name: 'uqrp', id: 'api.example.test' },
        user: { id: '', name: customer.email, displayName: customer.email },
        pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
        timeout: FIVE_MINUTES,
        attestation: 'none',
        excludeCredentials: [],
        authenticatorSelection: {
          residentKey: 'required',
          userVerification: 'required',
          requireResidentKey: true,
        },
        extensions: { credProps: true },
        hints: [],
      },
    );
    const authenticator = softwareAuthenticator(PUBLIC_URL);
    const answer = await customer.post('/passkeys', {
      name: 'laptop',
      response: authenticator.create(options),
    });
    const passkey = created(answer);
    assert.deepEqual(passkey, {
      id: passkey.id,
      name: 'laptop',
      backed_up: false,
      last_used_at: null,
      created_at: '2026-01-01T00:00:00.000Z',
    });
    assert.match(String(answer.headers.location), new RegExp(`/api/v1/passkeys/${passkey.id}$`));
    assert.deepEqual((await customer.get('/passkeys')).json, [passkey]);
    // An authenticator that has the passkey refuses to make another.
    const [excluded] = (await creationOptions(customer)).excludeCredentials;
    assert.deepEqual(excluded.transports, ['internal', 'hybrid']);

    world.advance(1_000);
    const { status, json } = await signIn(world, authenticator);
    assert.equal(status, 200);
    assert.deepEqual(json, {
      token: json.token,
      token_type: 'Bearer',
      expires_at: '2026-01-01T12:00:01.000Z',
      user: (await customer.get('/me')).json,
    });
    assert.equal((await world.caller(json.token).get('/me')).json.id, customer.id);
    const [used] = (await customer.get('/passkeys')).json;
    assert.equal(used.last_used_at, '2026-01-01T00:00:01.000Z');

    assert.equal((await customer.del(`/passkeys/${passkey.id}`)).status, 204);
    assertFailure(await customer.del(`/passkeys/${passkey.id}`), 404, 'not_found', 'Passkey not found');
    assert.deepEqual((await customer.get('/passkeys')).json, []);
    assertRefused(await signIn(world, authenticator));
    await world.close();
  },

  'every algorithm that is offered signs in': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
      const authenticator = softwareAuthenticator(PUBLIC_URL, algorithm);
      created(await register(customer, authenticator));
      assert.equal((await signIn(world, authenticator)).status, 200, algorithm);
    }
    await world.close();
  },

  'fields are checked, and those that browsers add are not': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const response = softwareAuthenticator(PUBLIC_URL).create(await creationOptions(customer));
    const nobody = world.caller(null);
    assertInvalid(await customer.post('/passkeys', {}), 'name is required', 'response is required');
    assertInvalid(
      await customer.post('/passkeys', { name: 'x', response: [] }),
      'response must be an object',
    );
    assertInvalid(await customer.post('/passkeys', { name: 'x', response: {} }), NOT_VALID);
    assertInvalid(
      await customer.post('/passkeys', {
        name: 'x'.repeat(101),
        response,
        user_id: customer.id,
        sign_count: 0,
      }),
      'user_id is not a known field',
      'sign_count is not a known field',
      'name must have at most 100 characters',
    );
    assertInvalid(await customer.post('/passkeys/options', { rp: {} }), 'rp is not a known field');
    assertInvalid(
      await nobody.post('/auth/passkeys/options', { email: 'a@b' }),
      'email is not a known field',
    );
    assertInvalid(await nobody.post('/auth/passkeys/verify', {}), 'response is required');
    assertInvalid(
      await nobody.post('/auth/passkeys/verify', { response: {}, user: 1 }),
      'user is not a known field',
    );
    assertRefused(await nobody.post('/auth/passkeys/verify', { response: {} }));
    assertRefused(await nobody.post('/auth/passkeys/verify', { response: { id: 1, response: null } }));
    assert.equal(
      (await customer.post('/passkeys', { name: 'x'.repeat(100), response: { ...response, added: 1 } }))
        .status,
      201,
    );
    await world.close();
  },

  'a challenge works once, for five minutes, for its purpose and for its user': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const authenticator = softwareAuthenticator(PUBLIC_URL);
    const nobody = world.caller(null);

    const options = await creationOptions(customer);
    const response = authenticator.create(options);
    assertInvalid(await other.post('/passkeys', { name: 'x', response }), ENDED);
    const { id } = created(await customer.post('/passkeys', { name: 'x', response }));
    assertInvalid(await customer.post('/passkeys', { name: 'x', response }), ENDED);
    // Nor once the passkey is gone.
    assert.equal((await customer.del(`/passkeys/${id}`)).status, 204);
    assertInvalid(await customer.post('/passkeys', { name: 'x', response }), ENDED);

    created(await register(customer, authenticator));
    const { challenge } = await requestOptions(world);
    assertInvalid(await register(customer, softwareAuthenticator(PUBLIC_URL), { challenge }), ENDED);
    const asAdd = (await creationOptions(customer)).challenge;
    assertRefused(await signIn(world, authenticator, { challenge: asAdd }));

    const signed = { response: authenticator.get({ challenge }) };
    assert.equal((await nobody.post('/auth/passkeys/verify', signed)).status, 200);
    assertRefused(await nobody.post('/auth/passkeys/verify', signed));
    // Signed again, with a higher count.
    assertRefused(await signIn(world, authenticator, { challenge }));

    const early = await requestOptions(world);
    const late = await requestOptions(world);
    const add = await creationOptions(customer);
    world.advance(FIVE_MINUTES - 1);
    const inTime = { response: authenticator.get(early) };
    assert.equal((await nobody.post('/auth/passkeys/verify', inTime)).status, 200);
    world.advance(1);
    assertRefused(await nobody.post('/auth/passkeys/verify', { response: authenticator.get(late) }));
    const tooLate = softwareAuthenticator(PUBLIC_URL).create(add);
    assertInvalid(await customer.post('/passkeys', { name: 'x', response: tooLate }), ENDED);
    await world.close();
  },

  'ten requests a minute of one address, for options and for responses': async (store) => {
    const world = await openWorld(store, { limiter: limiterOf });
    const from = (remoteAddress: string, path: string, token?: string): Promise<Answer> =>
      world.inject({
        method: 'POST',
        url: `/api/v1${path}`,
        remoteAddress,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        payload: {},
      });
    const { token } = await world.customer();
    const pairs = [
      ['/auth/passkeys/options', '/passkeys/options', 200],
      ['/auth/passkeys/verify', '/passkeys', 422],
    ] as const;
    for (const [open, signedIn, status] of pairs) {
      for (let i = 0; i < LIMITS.passkeyOptionsPerMinute - 1; i++) {
        assert.equal((await from('192.0.2.1', open)).status, status);
      }
      assert.equal((await from('192.0.2.1', signedIn, token)).status, status);
      for (const answer of [await from('192.0.2.1', open), await from('192.0.2.1', signedIn, token)]) {
        assertFailure(answer, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
      }
      assert.equal((await from('192.0.2.2', open)).status, status);
    }
    await world.close();
  },
});
