import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { take, userOf } from '../../http/guard.ts';
import { DELETED, describeRoutes } from '../../http/openapi/operation.ts';
import { jsonBody, pathId } from '../../http/request.ts';
import {
  clearSessionCookie,
  isForeignPage,
  refuseForeignPage,
  setCookie,
  signInCookie,
} from '../../http/session-cookie.ts';
import { arrayOf, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { BOOLEAN, optional, parsedOf, required, shape } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import type { HasRefusals } from '../audit/refusals.ts';
import {
  ACCOUNT_DELETION,
  currentUser,
  deleteOwnAccount,
  endOwnSession,
  endOwnSessions,
  listOwnSessions,
  normalizeEmail,
  SESSION_SCHEMA,
  signOut,
  USER_SCHEMA,
  type UserResource,
  userOfSession,
} from './rules.ts';
import { type NewSession, SESSION_LENGTH } from './sessions.ts';
import { FLOW_FORM, signInByCode } from './sign-in.ts';
import {
  addressBudgets,
  countingFailures,
  type Draw,
  failureBudgets,
  slowingFailures,
  takeAll,
} from './sign-in-budgets.ts';

const FLOW_SECONDS = LIMITS.signInCodeMinutes * 60;
const BROWSER_SECONDS = LIMITS.signInBrowserDays * 86_400;

/** The answer to a sign-in: the token, or a cookie that holds it. */
interface SignedInResource {
  readonly token?: string;
  readonly token_type?: 'Bearer';
  readonly expires_at: string;
  readonly user: UserResource;
}

type AnswerDeps = Pick<ApiDeps, 'store' | 'sessions' | 'publicUrl'>;

/**
 * Answers a sign-in of any kind, after the unit of work that began the session. Before it, `refuseForeignPage` must have passed for a cookie.
 * @param asCookie the session goes into a cookie, and the body has no token
 */
export async function answerSession(
  deps: AnswerDeps,
  reply: FastifyReply,
  session: NewSession,
  asCookie: boolean,
): Promise<SignedInResource> {
  const token = await deps.sessions.token(session);
  const rest = { expires_at: formatTime(session.expiresAt), user: await userOfSession(deps, session) };
  if (!asCookie) return { token, token_type: 'Bearer', ...rest };
  setCookie(reply, deps.publicUrl(), 'session', token, SESSION_LENGTH / 1000);
  return rest;
}

/** The stored form of a mail address. */
const EMAIL = parsedOf(
  { type: 'string', format: 'email', maxLength: LIMITS.mailAddress, examples: ['me@example.com'] },
  normalizeEmail,
  'is not an email address',
);

/** Mail programs copy white space around the digits, and people write it between them. */
const CODE_FORM = /^\s*[0-9](?:\s*[0-9]){5}\s*$/;

const CODE = parsedOf(
  { type: 'string', pattern: CODE_FORM.source, examples: ['428913'] },
  (text) => (CODE_FORM.test(text) ? text.replaceAll(/\s/g, '') : null),
  'must be six digits',
);

const FLOW_SCHEMA = {
  type: 'string',
  pattern: FLOW_FORM.source,
  examples: ['Zm9yIG9uZSBicm93c2VyIQ'],
} as const;

const FLOW = parsedOf(
  {
    ...FLOW_SCHEMA,
    description:
      'What `POST /auth/sign_in` answered. A page of this server may leave it out: its cookie has it. Without a flow the limits are narrower',
  },
  (text) => (FLOW_FORM.test(text) ? text : null),
  'is not a flow',
);

const SIGN_IN = shape('SignIn', { email: required(EMAIL) });
const VERIFICATION = shape('Verification', {
  email: required(EMAIL),
  code: required(CODE),
  flow: optional(FLOW),
  cookie: optional(BOOLEAN),
});

/** The answer to a request for a code. */
interface SignInFlow {
  readonly flow: string;
}

const SIGN_IN_FLOW_SCHEMA = resourceSchema<SignInFlow>('SignInFlow', {
  flow: { ...FLOW_SCHEMA, description: 'For `POST /auth/verify`. The code in the mail belongs to it' },
});

export const SIGNED_IN_SCHEMA = resourceSchema<SignedInResource>(
  'SignedIn',
  {
    token: { type: 'string', description: 'A JWT. Absent with `"cookie": true`' },
    token_type: { type: 'string', enum: ['Bearer'] },
    expires_at: TIME,
    user: USER_SCHEMA,
  },
  { token: true, token_type: true },
);

const SIGN_IN_ROUTES = describeRoutes('Sign-in', 'session', {
  signIn: {
    operationId: 'signIn',
    summary: 'Mails a code to sign in with',
    description: `The answer is the same for every address. The code has six digits, is valid for ${LIMITS.signInCodeMinutes} minutes and belongs to the flow in the answer, which pages of this server get as a cookie too; ${LIMITS.signInCodeTries} wrong tries with that flow make it void. Up to ${LIMITS.signInCodes} codes of an address are valid side by side. The first sign-in makes the account. At most ${LIMITS.signInsPerMinute} a minute from one network address, ${LIMITS.signInsPerQuarterHour} in 15 minutes for one mail address from one network, and ${LIMITS.signInCodesPerQuarterHour} for one mail address from all. A browser that the address has signed in from has ${LIMITS.signInsPerQuarterHour} in 15 minutes of its own.`,
    auth: 'none',
    request: SIGN_IN.schema,
    responses: {
      202: { description: 'A mail is sent', schema: SIGN_IN_FLOW_SCHEMA, headers: ['Set-Cookie'] },
    },
  },
  verify: {
    operationId: 'verifyCode',
    summary: 'Begins a session with a code',
    description: `Send the flow that asked for the code. Without a flow the code may be any live one of the address, but then at most ${LIMITS.triesWithoutFlowPerHour} an hour may fail from one network address and ${LIMITS.triesWithoutFlowPerDay} a day for the mail address, and at most ${LIMITS.verificationsPerMinute} a minute are tried. With \`"cookie": true\` the session comes as a cookie, which counts for pages of this server alone.`,
    auth: 'none',
    request: VERIFICATION.schema,
    responses: {
      200: { description: 'Signed in', schema: SIGNED_IN_SCHEMA, headers: ['Set-Cookie'] },
    },
    errors: [401, 403],
  },
  signOut: {
    operationId: 'signOut',
    // A user can sign out when the write budget is used up.
    unmetered: true,
    summary: 'Ends the session of this request, at once',
    responses: { 204: { ...DELETED[204], headers: ['Set-Cookie'] } },
  },
  listSessions: {
    operationId: 'listSessions',
    summary: 'Lists the sessions of the user, newest first',
    query: {},
    responses: { 200: { description: 'The sessions', schema: arrayOf(SESSION_SCHEMA) } },
  },
  endSession: {
    operationId: 'deleteSession',
    unmetered: true,
    summary: 'Ends one session of the user, at once',
    responses: DELETED,
  },
  endSessions: {
    operationId: 'deleteSessions',
    unmetered: true,
    summary: 'Ends every session of the user, this one included, at once',
    responses: { 204: { ...DELETED[204], headers: ['Set-Cookie'] } },
  },
});

export function signInRoutes(app: FastifyInstance, deps: ApiDeps & HasRefusals): void {
  app.post('/auth/sign_in', SIGN_IN_ROUTES.signIn, async (request, reply) => {
    const { email } = SIGN_IN.parse(jsonBody(request), undefined);
    // Nothing here reads whether the address has an account.
    const network = request.siteKey() ?? request.addressKey();
    const { code, flow } = await askForCode(deps, request, email, network);
    deps.sendCode(email, code, network);
    const publicUrl = deps.publicUrl();
    if (!isForeignPage(request, publicUrl)) setCookie(reply, publicUrl, 'flow', flow, FLOW_SECONDS);
    return { flow };
  });
  app.post('/auth/verify', SIGN_IN_ROUTES.verify, async (request, reply) => {
    const publicUrl = deps.publicUrl();
    const { cookie = false, flow: given, ...proof } = VERIFICATION.parse(jsonBody(request), undefined);
    if (cookie) refuseForeignPage(request, publicUrl);
    const flow = given ?? signInCookie(request, publicUrl, 'flow', FLOW_FORM);
    const browser = signInCookie(request, publicUrl, 'browser', FLOW_FORM);
    const session = await verifyWithin(deps, request, proof.email, flow, () =>
      signInByCode(deps, { ...proof, flow, requestId: request.id, ...(cookie && { browser }) }),
    );
    const answer = await answerSession(deps, reply, session, cookie);
    if (session.browser !== null) setCookie(reply, publicUrl, 'browser', session.browser, BROWSER_SECONDS);
    return answer;
  });
  app.delete('/auth/session', SIGN_IN_ROUTES.signOut, async (request, reply) => {
    await signOut(deps, userOf(request));
    clearSessionCookie(reply, deps.publicUrl());
  });
  app.get('/sessions', SIGN_IN_ROUTES.listSessions, (request) => listOwnSessions(deps, userOf(request)));
  app.delete('/sessions/:id', SIGN_IN_ROUTES.endSession, (request) =>
    endOwnSession(deps, userOf(request), pathId(request, 'id', 'Session')),
  );
  app.delete('/sessions', SIGN_IN_ROUTES.endSessions, async (request, reply) => {
    await endOwnSessions(deps, userOf(request));
    clearSessionCookie(reply, deps.publicUrl());
  });
}

/**
 * Makes a code within the limits of who asks. What strangers ask for an address, also from the same network, takes nothing from a
 * browser that the address has signed in from.
 * @throws AppError 429
 */
async function askForCode(deps: ApiDeps, request: FastifyRequest, email: string, network: string) {
  const { codes, limiter } = deps;
  const browser = await codes.knownBrowser(
    email,
    signInCookie(request, deps.publicUrl(), 'browser', FLOW_FORM),
  );
  if (browser !== null) {
    await take(limiter, 'signInsOfBrowser', browser);
    return codes.issue(email, { browser });
  }
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

const ACCOUNT_ROUTES = describeRoutes('Account', 'session', {
  me: {
    operationId: 'getMe',
    summary: 'Reads the signed-in user',
    responses: { 200: { description: 'The user', schema: USER_SCHEMA } },
    errors: [404],
  },
  delete: {
    operationId: 'deleteMe',
    summary: 'Deletes your account and everything that is yours',
    description:
      'The address in the body proves that you mean it. When it is answered you are signed out everywhere, keys and webhooks have ended, and the address is free. Namespaces, records and the rest follow in small units. Refused with 403 while a namespace is suspended, and with 422 for the last owner of an organization.',
    request: ACCOUNT_DELETION.schema,
    responses: { 204: { ...DELETED[204], headers: ['Set-Cookie'] } },
  },
});

export function accountRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/me', ACCOUNT_ROUTES.me, (request) => currentUser(deps, userOf(request)));
  app.delete('/me', ACCOUNT_ROUTES.delete, async (request, reply) => {
    await deleteOwnAccount(deps, userOf(request), jsonBody(request));
    clearSessionCookie(reply, deps.publicUrl());
  });
}
