import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { created } from '../../http/answers.ts';
import { userOf } from '../../http/guard.ts';
import { createdResponse, DELETED, describeRoutes } from '../../http/openapi/operation.ts';
import { jsonBody, pathId } from '../../http/request.ts';
import { refuseForeignPage } from '../../http/session-cookie.ts';
import { arrayOf, type Schema } from '../../protocol/input/schema.ts';
import { answerSession, SIGNED_IN_SCHEMA } from '../accounts/api.ts';
import { addressBudgets, failureBudgets, slowingFailures, takeAll } from '../accounts/sign-in-budgets.ts';
import type { ApiDeps } from '../api-deps.ts';
import type { HasRefusals } from '../audit/refusals.ts';
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

const ROUTES = describeRoutes('Passkeys', 'session', {
  creationOptions: {
    operationId: 'createPasskeyOptions',
    summary: 'Options for adding a passkey',
    description: `For \`navigator.credentials.create()\`. The challenge works once, for ${LIMITS.passkeyChallengeMinutes} minutes.`,
    request: 'empty',
    responses: { 200: { description: 'The options', schema: CREATION_OPTIONS } },
  },
  list: {
    operationId: 'listPasskeys',
    summary: 'Lists your passkeys',
    query: {},
    responses: { 200: { description: 'Oldest first', schema: arrayOf(PASSKEY_SCHEMA) } },
  },
  create: {
    operationId: 'createPasskey',
    summary: 'Adds a passkey',
    description: `\`response\` is what \`toJSON()\` of the new credential gives. A user has at most ${LIMITS.passkeysPerUser} passkeys.`,
    headers: ['Idempotency-Key'],
    request: NEW_PASSKEY.schema,
    responses: createdResponse(PASSKEY_SCHEMA, 'The passkey'),
  },
  delete: {
    operationId: 'deletePasskey',
    summary: 'Removes a passkey',
    description: 'You may remove each of them: a code by mail is always a way in.',
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
});

export function passkeyRoutes(app: FastifyInstance, deps: ApiDeps & HasRefusals): void {
  app.post('/passkeys/options', ROUTES.creationOptions, async (request) => {
    await takeAll(deps, addressBudgets(request, 'passkeyOptions'));
    return passkeyCreationOptions(deps, userOf(request));
  });
  app.get('/passkeys', ROUTES.list, (request) => listOwnPasskeys(deps, userOf(request)));
  app.post('/passkeys', ROUTES.create, async (request, reply) => {
    await takeAll(deps, addressBudgets(request, 'passkeyResponses'));
    const passkey = await runOnce(deps, request, reply, (unit) =>
      addPasskey({ ...deps, unit }, userOf(request), jsonBody(request)),
    );
    return created(deps, request, reply, passkey);
  });
  app.delete('/passkeys/:id', ROUTES.delete, (request) =>
    deleteOwnPasskey(deps, userOf(request), pathId(request, 'id', 'Passkey')),
  );
  signInRoutes(app, deps);
}

function signInRoutes(app: FastifyInstance, deps: ApiDeps & HasRefusals): void {
  app.post('/auth/passkeys/options', ROUTES.requestOptions, async (request) => {
    await takeAll(deps, addressBudgets(request, 'passkeyOptions'));
    return passkeySignInOptions(deps);
  });
  app.post('/auth/passkeys/verify', ROUTES.signIn, async (request, reply) => {
    await takeAll(deps, addressBudgets(request, 'passkeyResponses'));
    const { response, cookie = false } = PASSKEY_SIGN_IN.parse(jsonBody(request), {});
    if (cookie) refuseForeignPage(request, deps.publicUrl());
    const session = await slowingFailures(deps, failureBudgets(request), () =>
      signInWithPasskey(deps, response, request.id, (tx, userId) =>
        deps.sessions.begin(tx, userId, 'passkey', request.id),
      ),
    );
    return answerSession(deps, reply, session, cookie);
  });
}
