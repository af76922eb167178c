import assert from 'node:assert/strict';
import { createHash, createPrivateKey, sign } from 'node:crypto';
import {
  type Deviations,
  softwareAuthenticator,
} from '../../../test/support/control/passkeys/authenticator.ts';
import {
  assertRefused,
  FIVE_MINUTES,
  register,
  requestOptions,
  signIn,
} from '../../../test/support/control/passkeys/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  type Answer,
  created,
  type Json,
  openWorld,
  PUBLIC_URL,
  type World,
} from '../../../test/support/http/world.ts';

const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');

/** The private key 1 of P-256: its public key is the base point. */
const KEY_ONE = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    d: base64url('1'.padStart(64, '0')),
    x: base64url('6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296'),
    y: base64url('4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5'),
  },
});

const WRONG_SIGN_INS: Readonly<Record<string, Deviations>> = {
  'another origin': { origin: 'https://evil.example.test' },
  'a frame of another origin': { clientData: { crossOrigin: true } },
  'another relying party': { rpId: 'example.test' },
  'a user who was not verified': { userVerified: false },
  'a user who was not there': { userPresent: false },
  'a registration in place of an assertion': { type: 'webauthn.create' },
  'a challenge of nobody': { challenge: 'AAAA' },
  'a challenge that is no Base64url': { challenge: '???' },
  'a credential that nobody has': { credentialId: Buffer.alloc(32, 9) },
  'an id with another text': { otherId: 'A' },
  'a user handle of nobody': { userHandle: Buffer.alloc(16).toString('base64url') },
  'an empty user handle': { userHandle: '' },
  'no user handle (P03)': { userHandle: null },
};

apiScenarios('passkeys, sign-in', {
  'options for a sign-in name no passkey and nobody': async (store) => {
    const world = await openWorld(store);
    const options = await requestOptions(world);
    assert.deepEqual(
      { ...options, challenge: '' },
      {
        challenge: '',
        rpId: 'api.example.test',
        timeout: FIVE_MINUTES,
        userVerification: 'required',
      },
    );
    assert.notEqual((await requestOptions(world)).challenge, options.challenge);
    await world.close();
  },

  'sign-ins that are not valid are all refused alike': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const authenticator = softwareAuthenticator(PUBLIC_URL);
    created(await register(customer, authenticator));
    for (const [label, but] of Object.entries(WRONG_SIGN_INS)) {
      const answer = await signIn(world, authenticator, but);
      assert.equal(answer.status, 401, label);
      assertRefused(answer);
    }
    const other = softwareAuthenticator(PUBLIC_URL);
    created(await register(await world.customer(), other));
    // Another key, under the id and the handle of the passkey.
    const options = await requestOptions(world);
    const genuine = authenticator.get(options);
    const forged = { ...other.get(options), id: genuine.id, rawId: genuine.id };
    forged.response.userHandle = genuine.response.userHandle;
    assertRefused(await world.caller(null).post('/auth/passkeys/verify', { response: forged }));
    // The key that stands in for one that is not registered: its private key is 1.
    const stranger = authenticator.get(options, { credentialId: Buffer.alloc(32, 9) });
    const { authenticatorData, clientDataJSON } = stranger.response;
    const digest = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();
    const signed = Buffer.concat([Buffer.from(authenticatorData, 'base64url'), digest]);
    stranger.response.signature = sign('sha256', signed, KEY_ONE).toString('base64url');
    assertRefused(await world.caller(null).post('/auth/passkeys/verify', { response: stranger }));
    // The passkey of one user under the handle of another.
    const otherHandle = other.get(options).response.userHandle;
    assertRefused(await signIn(world, authenticator, { userHandle: otherHandle }));
    assert.equal((await signIn(world, authenticator)).status, 200);
    await world.close();
  },

  'of two sign-ins at once with one challenge or one sign count, one succeeds': async (store) => {
    const [world, otherProcess] = [await openWorld(store), await openWorld(store)];
    const customer = await world.customer();
    const authenticator = softwareAuthenticator(PUBLIC_URL);
    created(await register(customer, authenticator));
    const verify = (process: World, response: Json): Promise<Answer> =>
      process.caller(null).post('/auth/passkeys/verify', { response });
    const statuses = (answers: readonly Answer[]): number[] =>
      answers.map(({ status }) => status).sort((a, b) => a - b);

    const one = authenticator.get(await requestOptions(world));
    assert.deepEqual(
      statuses(await Promise.all([world, otherProcess].map((process) => verify(process, one)))),
      [200, 401],
    );
    // As two copies of one authenticator sign.
    const twins = [50, 50].map(async (signCount) =>
      authenticator.get(await requestOptions(world), { signCount }),
    );
    const [a, b] = await Promise.all(twins);
    assert.deepEqual(statuses(await Promise.all([verify(world, a), verify(otherProcess, b)])), [200, 401]);
    for (const opened of [world, otherProcess]) await opened.close();
  },

  'a sign count that does not grow is refused; without a count each sign-in counts': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const counting = softwareAuthenticator(PUBLIC_URL);
    created(await register(customer, counting, { signCount: 7 }));
    for (const [signCount, status] of [
      [7, 401],
      [6, 401],
      [0, 401],
      [8, 200],
      [8, 401],
      [4_294_967_295, 200],
    ] as const) {
      assert.equal((await signIn(world, counting, { signCount })).status, status, `count ${signCount}`);
    }
    const silent = softwareAuthenticator(PUBLIC_URL);
    created(await register(customer, silent, { signCount: 0 }));
    for (const status of [200, 200]) {
      assert.equal((await signIn(world, silent, { signCount: 0 })).status, status);
    }
    await world.close();
  },
});
