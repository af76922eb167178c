import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { actorOf } from '../../http/guard.ts';
import { DELETED, describe, madeResponse, type Operation } from '../../http/openapi/operation.ts';
import { jsonBody, pathId, refuseFields, refuseParameters } from '../../http/request.ts';
import { arrayOf, type Schema } from '../../protocol/input/schema.ts';
import { answerSession, requireCookieAllowed, SIGNED_IN_SCHEMA } from '../accounts/api.ts';
import { addressBudgets, failureBudgets, slowingFailures, takeAll } from '../accounts/sign-in-budgets.ts';
import type { ApiDeps } from '../api-deps.ts';
import { runOnce } from '../unit.ts';
import {
  addPasskey,
  deleteOwnPasskey,
  listOwnPasskeys,
  NEW_PASSKEY,
  PASSKEY_SCHEMA,
  PASSKEY_SIGN_IN,
  passkeyCreationOptions,
  passkeySignInOptions,
  signInWithPasskey,
} from './rules.ts';

const tag = 'Passkeys';
const auth = 'session';

const TEXT = { type: 'string' } as const;
const CREDENTIAL_TYPE = { type: 'string', const: 'public-key' } as const;

function objectOf(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

/** What browsers read with `parseCreationOptionsFromJSON()`; WebAuthn §5.4 has the members. */
const CREATION_OPTIONS: Schema = {
  title: 'PasskeyCreationOptions',
  type: 'object',
  description: '`PublicKeyCredentialCreationOptionsJSON` of WebAuthn',
  properties: {
    challenge: { type: 'string' },
    rp: objectOf({ id: TEXT, name: TEXT }),
    user: objectOf({ id: TEXT, name: TEXT, displayName: TEXT }),
    pubKeyCredParams: arrayOf(objectOf({ type: CREDENTIAL_TYPE, alg: { type: 'integer' } })),
    timeout: { type: 'integer', description: 'Milliseconds' },
    excludeCredentials: arrayOf(
      objectOf({ type: CREDENTIAL_TYPE, id: TEXT, transports: arrayOf(TEXT) }, ['transports']),
    ),
    authenticatorSelection: objectOf({
      residentKey: { type: 'string', const: 'required' },
      requireResidentKey: { type: 'boolean' },
      userVerification: { type: 'string', const: 'required' },
    }),
  },
  required: [
    'challenge',
    'rp',
    'user',
    'pubKeyCredParams',
    'timeout',
    'excludeCredentials',
    'authenticatorSelection',
  ],
  additionalProperties: true,
};

/** WebAuthn §5.5. */
const REQUEST_OPTIONS: Schema = {
  title: 'PasskeyRequestOptions',
  type: 'object',
  description: '`PublicKeyCredentialRequestOptionsJSON` of WebAuthn',
  properties: {
    challenge: { type: 'string' },
    rpId: { type: 'string' },
    timeout: { type: 'integer', description: 'Milliseconds' },
    userVerification: { type: 'string', const: 'required' },
  },
  required: ['challenge', 'rpId', 'timeout', 'userVerification'],
  additionalProperties: true,
};

const PASSKEY_OPERATIONS = {
  creationOptions: {
    operationId: 'createPasskeyOptions',
    summary: 'Options for adding a passkey',
    description: `For \`navigator.credentials.create()\`. The challenge works once, for ${LIMITS.passkeyChallengeMinutes} minutes.`,
    tag,
    auth,
    request: 'empty',
    responses: { 200: { description: 'The options', schema: CREATION_OPTIONS } },
    errors: [422],
  },
  list: {
    operationId: 'listPasskeys',
    summary: 'Lists your passkeys',
    tag,
    auth,
    responses: { 200: { description: 'Oldest first', schema: arrayOf(PASSKEY_SCHEMA) } },
  },
  create: {
    operationId: 'createPasskey',
    summary: 'Adds a passkey',
    description: `\`response\` is what \`toJSON()\` of the new credential gives. A user has at most ${LIMITS.passkeysPerUser} passkeys.`,
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: NEW_PASSKEY.schema,
    responses: madeResponse(PASSKEY_SCHEMA, 'The passkey'),
  },
  delete: {
    operationId: 'deletePasskey',
    summary: 'Removes a passkey',
    description: 'You may remove each of them: a code by mail is always a way in.',
    tag,
    auth,
    responses: DELETED,
  },
  requestOptions: {
    operationId: 'createPasskeySignInOptions',
    summary: 'Options for signing in with a passkey',
    description: `For \`navigator.credentials.get()\`. They are the same for everybody. The challenge works once, for ${LIMITS.passkeyChallengeMinutes} minutes.`,
    tag: 'Sign-in',
    auth: 'none',
    request: 'empty',
    responses: { 200: { description: 'The options', schema: REQUEST_OPTIONS } },
  },
  signIn: {
    operationId: 'verifyPasskeySignIn',
    summary: 'Signs in with a passkey',
    description:
      '`response` is what `toJSON()` of the credential gives. Every response that does not sign in is 401 with one text. With `"cookie": true` the session comes as a cookie.',
    tag: 'Sign-in',
    auth: 'none',
    request: PASSKEY_SIGN_IN.schema,
    responses: { 200: { description: 'The session', schema: SIGNED_IN_SCHEMA, headers: ['Set-Cookie'] } },
    errors: [401, 403],
  },
} as const satisfies Readonly<Record<string, Operation>>;

export function passkeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/passkeys/options', describe(PASSKEY_OPERATIONS.creationOptions), async (request) => {
    refuseFields(request);
    await takeAll(deps, addressBudgets(request, 'passkeyOptions'));
    return passkeyCreationOptions(deps, actorOf(request));
  });
  app.get('/passkeys', describe(PASSKEY_OPERATIONS.list), async (request) => {
    refuseParameters(request);
    return listOwnPasskeys(deps, actorOf(request));
  });
  app.post('/passkeys', describe(PASSKEY_OPERATIONS.create), async (request, reply) => {
    await takeAll(deps, addressBudgets(request, 'passkeyResponses'));
    const passkey = await runOnce(deps, request, reply, (unit) =>
      addPasskey({ ...deps, unit }, actorOf(request), jsonBody(request)),
    );
    return reply.code(201).send(passkey);
  });
  app.delete('/passkeys/:id', describe(PASSKEY_OPERATIONS.delete), async (request, reply) => {
    await deleteOwnPasskey(deps, actorOf(request), pathId(request, 'id', 'Passkey'));
    return reply.code(204).send();
  });
  signInRoutes(app, deps);
}

function signInRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/auth/passkeys/options', describe(PASSKEY_OPERATIONS.requestOptions), async (request) => {
    refuseFields(request);
    await takeAll(deps, addressBudgets(request, 'passkeyOptions'));
    return passkeySignInOptions(deps);
  });
  app.post('/auth/passkeys/verify', describe(PASSKEY_OPERATIONS.signIn), async (request, reply) => {
    await takeAll(deps, addressBudgets(request, 'passkeyResponses'));
    const { response, cookie = false } = PASSKEY_SIGN_IN.parse(jsonBody(request), {});
    requireCookieAllowed(reply, deps, cookie);
    const session = await slowingFailures(deps, failureBudgets(request), () =>
      signInWithPasskey(deps, response, (tx, userId) => deps.sessions.begin(tx, userId, 'passkey')),
    );
    return answerSession(deps, reply, session, cookie);
  });
}
