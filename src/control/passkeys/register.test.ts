import assert from 'node:assert/strict';
import {
  type Deviations,
  softwareAuthenticator,
} from '../../../test/support/control/passkeys/authenticator.ts';
import {
  assertInvalid,
  creationOptions,
  ENDED,
  NOT_VALID,
  OTHER_ORIGIN,
  register,
  signIn,
} from '../../../test/support/control/passkeys/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  type Answer,
  assertFailure,
  created,
  openWorld,
  PUBLIC_URL,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';

/** Registrations that a page or an authenticator makes wrong, and the fault that is named. */
const WRONG_REGISTRATIONS: Readonly<Record<string, readonly [Deviations, string]>> = {
  'another origin': [{ origin: 'https://evil.example.test' }, OTHER_ORIGIN],
  'a subdomain of ours': [{ origin: 'https://x.api.example.test' }, OTHER_ORIGIN],
  'http in place of https': [{ origin: 'http://api.example.test' }, OTHER_ORIGIN],
  'a frame of another origin': [{ clientData: { crossOrigin: true } }, OTHER_ORIGIN],
  'a frame that names its top': [{ clientData: { topOrigin: 'https://evil.example.test' } }, OTHER_ORIGIN],
  'another relying party': [{ rpId: 'example.test' }, NOT_VALID],
  'a user who was not verified': [{ userVerified: false }, NOT_VALID],
  'a user who was not there': [{ userPresent: false }, NOT_VALID],
  'an assertion in place of a registration': [{ type: 'webauthn.get' }, NOT_VALID],
  'a challenge of nobody': [{ challenge: 'AAAA' }, ENDED],
  'an attestation with certificates': [
    { format: 'fido-u2f', statement: new Map([['x5c', Buffer.alloc(64)]]) },
    NOT_VALID,
  ],
  'a packed attestation with certificates': [
    { format: 'packed', statement: new Map([['x5c', Buffer.alloc(64)]]) },
    NOT_VALID,
  ],
  'a statement where there must be none': [{ statement: new Map([['sig', Buffer.alloc(8)]]) }, NOT_VALID],
  'an id that is not the signed one': [{ otherId: 'AAAA' }, NOT_VALID],
  'a credential id of 1,024 bytes': [
    { credentialId: Buffer.alloc(LIMITS.passkeyCredentialId + 1, 7) },
    NOT_VALID,
  ],
};

apiScenarios('passkeys, registration', {
  'an attestation that the credential signs itself is accepted, unless its signature is wrong': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const authenticator = softwareAuthenticator(PUBLIC_URL);
    const statement = new Map<string, number | Buffer>([
      ['alg', -7],
      ['sig', Buffer.alloc(70, 0x30)],
    ]);
    assertInvalid(await register(customer, authenticator, { format: 'packed', statement }), NOT_VALID);
    created(await register(customer, authenticator, { selfAttested: true }));
    assert.equal((await signIn(world, authenticator)).status, 200);
    await world.close();
  },

  'registrations that are not valid store nothing': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (const [label, [but, message]] of Object.entries(WRONG_REGISTRATIONS)) {
      const answer = await register(customer, softwareAuthenticator(PUBLIC_URL), but);
      assert.deepEqual(answer.json, { errors: [message], code: 'validation_error' }, label);
    }
    assert.deepEqual((await customer.get('/passkeys')).json, []);
    await world.close();
  },

  'a credential is registered once, for one user': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const credentialId = Buffer.from(world.deps.random(32));
    created(await register(customer, softwareAuthenticator(PUBLIC_URL), { credentialId }));
    for (const caller of [customer, other]) {
      assertInvalid(
        await register(caller, softwareAuthenticator(PUBLIC_URL), { credentialId }),
        'response is of a passkey that is registered already',
      );
    }
    await world.close();
  },

  "another user's passkey is not found, and API keys reach none": async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const { id } = created(await register(customer, softwareAuthenticator(PUBLIC_URL)));
    assertFailure(await other.del(`/passkeys/${id}`), 404, 'not_found', 'Passkey not found');
    assertFailure(await customer.del('/passkeys/x'), 404, 'not_found', 'Passkey not found');
    assert.deepEqual((await other.get('/passkeys')).json, []);
    const key = await customer.key();
    for (const answer of [
      await key.get('/passkeys'),
      await key.post('/passkeys/options'),
      await key.post('/passkeys', {}),
      await key.del(`/passkeys/${id}`),
    ]) {
      assertFailure(
        answer,
        403,
        'authorization_error',
        'API keys cannot use this endpoint; a customer token is required',
      );
    }
    assert.equal((await customer.get('/passkeys')).json.length, 1);
    await world.close();
  },

  'a user has at most 20 passkeys': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const waiting = softwareAuthenticator(PUBLIC_URL).create(await creationOptions(customer));
    for (let i = 0; i < LIMITS.passkeysPerUser; i++) {
      created(await register(customer, softwareAuthenticator(PUBLIC_URL)));
    }
    const full = 'Passkey limit of the account reached';
    assertFailure(await customer.post('/passkeys/options'), 422, 'quota_exceeded', full);
    const answer = await customer.post('/passkeys', { name: 'x', response: waiting });
    assertFailure(answer, 422, 'quota_exceeded', full);
    // The refusal used no challenge.
    const [{ id }] = (await customer.get('/passkeys')).json;
    await customer.del(`/passkeys/${id}`);
    created(await customer.post('/passkeys', { name: 'x', response: waiting }));
    await world.close();
  },

  'a repeated POST with an Idempotency-Key adds one passkey': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const response = softwareAuthenticator(PUBLIC_URL).create(await creationOptions(customer));
    const post = (): Promise<Answer> =>
      customer.send('POST', '/passkeys', { name: 'x', response }, { 'idempotency-key': 'k' });
    const first = created(await post());
    assert.deepEqual(created(await post()), first);
    assert.deepEqual((await customer.get('/passkeys')).json, [first]);
    await world.close();
  },
});
