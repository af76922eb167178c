import type { FastifyInstance } from 'fastify';
import { endOwnSession, endOwnSessions, listOwnSessions, signOut } from '../../accounts/own-sessions.ts';
import { signInByCode } from '../../accounts/sign-in/sign-in.ts';
import { answerSession, requireCookieAllowed } from '../answers/session.ts';
import type { ApiDeps } from '../deps.ts';
import { describe, type Operation } from '../openapi/operation.ts';
import { SIGN_IN, SIGN_IN_OPERATIONS, VERIFICATION } from '../operations/sign-in.ts';
import { addressBudgets, type Draw, takeAll } from '../requests/address-budgets.ts';
import { actorOf, take } from '../requests/guard.ts';
import { jsonBody, pathId, refuseParameters } from '../requests/input.ts';
import { clearSessionCookie } from '../requests/session-cookie.ts';
import { slowingFailures } from '../requests/slow-failures.ts';

export function signInRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/auth/sign_in', describe(SIGN_IN_OPERATIONS.signIn), async (request, reply) => {
    const { email } = SIGN_IN.parse(jsonBody(request), undefined);
    await takeAll(deps, addressBudgets(request, 'signIns'));
    await take(deps.limiter, 'signInCodes', deps.codes.addressKey(email));
    // Nothing here reads whether the address has an account.
    deps.sendCode(email, await deps.codes.issue(email));
    return reply.code(202).send();
  });
  app.post('/auth/verify', describe(SIGN_IN_OPERATIONS.verify), async (request, reply) => {
    const { email, code, cookie = false } = VERIFICATION.parse(jsonBody(request), undefined);
    requireCookieAllowed(reply, deps, cookie);
    await takeAll(deps, addressBudgets(request, 'verifications'));
    const budgets: readonly Draw[] = [
      ...addressBudgets(request, 'failedSignIns'),
      ['failedCodes', deps.codes.addressKey(email)],
    ];
    const session = await slowingFailures(deps, budgets, () => signInByCode(deps, email, code));
    return answerSession(deps, reply, session, cookie);
  });
  app.delete('/auth/session', unmetered(SIGN_IN_OPERATIONS.signOut), async (request, reply) => {
    await signOut(deps, actorOf(request));
    clearSessionCookie(reply, deps.publicUrl());
    return reply.code(204).send();
  });
  app.get('/sessions', describe(SIGN_IN_OPERATIONS.listSessions), async (request) => {
    refuseParameters(request);
    return listOwnSessions(deps, actorOf(request));
  });
  app.delete('/sessions/:id', unmetered(SIGN_IN_OPERATIONS.endSession), async (request, reply) => {
    await endOwnSession(deps, actorOf(request), pathId(request, 'id', 'Session'));
    return reply.code(204).send();
  });
  app.delete('/sessions', unmetered(SIGN_IN_OPERATIONS.endSessions), async (request, reply) => {
    await endOwnSessions(deps, actorOf(request));
    clearSessionCookie(reply, deps.publicUrl());
    return reply.code(204).send();
  });
}

/** A user can sign out when the write budget is used up. */
function unmetered(operation: Operation) {
  const { config, ...rest } = describe(operation);
  return { ...rest, config: { ...config, unmetered: true } };
}
