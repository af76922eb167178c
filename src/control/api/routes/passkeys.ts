import type { FastifyInstance } from 'fastify';
import { PASSKEY_SIGN_IN } from '../../passkeys/input.ts';
import { deleteOwnPasskey, listOwnPasskeys } from '../../passkeys/passkeys.ts';
import { addPasskey, passkeyCreationOptions } from '../../passkeys/register.ts';
import { passkeySignInOptions, signInWithPasskey } from '../../passkeys/sign-in.ts';
import { answerSession, requireCookieAllowed } from '../answers/session.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { PASSKEY_OPERATIONS } from '../operations/passkeys.ts';
import { addressBudgets, takeAll } from '../requests/address-budgets.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { jsonBody, pathId, refuseFields, refuseParameters } from '../requests/input.ts';
import { failureBudgets, slowingFailures } from '../requests/slow-failures.ts';

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
    const passkey = await runOnce(deps, request, (own) =>
      addPasskey(own, actorOf(request), jsonBody(request)),
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
