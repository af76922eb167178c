import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endOwnSession, endOwnSessions, listOwnSessions, signOut } from '../../accounts/own-sessions.ts';
import { FLOW_FORM } from '../../accounts/sign-in/codes.ts';
import { signInByCode } from '../../accounts/sign-in/sign-in.ts';
import { answerSession, requireCookieAllowed } from '../answers/session.ts';
import type { ApiDeps } from '../deps.ts';
import { describe, type Operation } from '../openapi/operation.ts';
import { SIGN_IN, SIGN_IN_OPERATIONS, VERIFICATION } from '../operations/sign-in.ts';
import { addressBudgets, type Draw, takeAll } from '../requests/address-budgets.ts';
import { actorOf, take } from '../requests/guard.ts';
import { jsonBody, pathId, refuseParameters } from '../requests/input.ts';
import { clearSessionCookie, isForeignPage, setCookie, signInCookie } from '../requests/session-cookie.ts';
import { countingFailures, failureBudgets, slowingFailures } from '../requests/slow-failures.ts';

export function signInRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/auth/sign_in', describe(SIGN_IN_OPERATIONS.signIn), async (request, reply) => {
    const { email } = SIGN_IN.parse(jsonBody(request), undefined);
    // Nothing here reads whether the address has an account.
    const { code, flow } = await askForCode(deps, request, email);
    deps.sendCode(email, code);
    const publicUrl = deps.publicUrl();
    if (!isForeignPage(request, publicUrl)) setCookie(reply, publicUrl, 'flow', flow);
    return reply.code(202).send({ flow });
  });
  app.post('/auth/verify', describe(SIGN_IN_OPERATIONS.verify), async (request, reply) => {
    const publicUrl = deps.publicUrl();
    const { cookie = false, flow: given, ...proof } = VERIFICATION.parse(jsonBody(request), undefined);
    requireCookieAllowed(reply, deps, cookie);
    const flow = given ?? signInCookie(request, publicUrl, 'flow', FLOW_FORM);
    const browser = signInCookie(request, publicUrl, 'browser', FLOW_FORM);
    const session = await verifyWithin(deps, request, proof.email, flow, () =>
      signInByCode(deps, { ...proof, flow, ...(cookie && { browser }) }),
    );
    const answer = await answerSession(deps, reply, session, cookie);
    if (session.browser !== null) setCookie(reply, publicUrl, 'browser', session.browser);
    return answer;
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

/**
 * Makes a code within the limits of who asks. What strangers ask for an address, also from the same network, takes nothing from a
 * browser that the address has signed in from.
 * @throws AppError 429
 */
async function askForCode(deps: ApiDeps, request: FastifyRequest, email: string) {
  const { codes, limiter } = deps;
  const browser = await codes.knownBrowser(
    email,
    signInCookie(request, deps.publicUrl(), 'browser', FLOW_FORM),
  );
  if (browser !== null) {
    await take(limiter, 'signInsOfBrowser', browser);
    return codes.issue(email, { browser });
  }
  const network = request.siteKey() ?? request.addressKey();
  const address = codes.addressKey(email);
  // A network whose tries fail asks for no more codes: the tries of a code are bounded, so the codes must be.
  return slowingFailures(deps, failureBudgets(request), async () => {
    await takeAll(deps, [
      ...addressBudgets(request, 'signIns'),
      ['signInsOfNetwork', `${address} ${network}`],
      ['signInCodes', address],
    ]);
    return codes.issue(email, { network });
  });
}

/**
 * Runs a sign-in within the limits of tries. An open flow has its five tries, whatever others have tried. Without a flow, the network
 * and the address are limited. @throws AppError 429, and errors of `signIn`
 */
async function verifyWithin<T>(
  deps: ApiDeps,
  request: FastifyRequest,
  email: string,
  flow: string | null,
  signIn: () => Promise<T>,
): Promise<T> {
  const failures = failureBudgets(request);
  if (flow !== null && (await deps.codes.isOpen(email, flow)))
    return countingFailures(deps, failures, signIn);
  await takeAll(deps, addressBudgets(request, 'verifications'));
  const ofOldClients: readonly Draw[] = [
    ...addressBudgets(request, 'triesWithoutFlow'),
    ['triesWithoutFlowOfAddress', deps.codes.addressKey(email)],
  ];
  return slowingFailures(deps, flow === null ? [...failures, ...ofOldClients] : failures, signIn);
}

/** A user can sign out when the write budget is used up. */
function unmetered(operation: Operation) {
  const { config, ...rest } = describe(operation);
  return { ...rest, config: { ...config, unmetered: true } };
}
