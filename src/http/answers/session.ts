import type { FastifyReply } from 'fastify';
import { formatTime } from '../../base/text/time.ts';
import type { NewSession } from '../../control/accounts/sessions.ts';
import { type UserResource, userOfSession } from '../../control/accounts/users.ts';
import type { ApiDeps } from '../deps.ts';
import { refuseForeignPage, setCookie } from '../requests/session-cookie.ts';

/** The answer to a sign-in: the token, or a cookie that holds it. */
export interface SignedInResource {
  readonly token?: string;
  readonly token_type?: 'Bearer';
  readonly expires_at: string;
  readonly user: UserResource;
}

type AnswerDeps = Pick<ApiDeps, 'store' | 'sessions' | 'publicUrl'>;

/**
 * Answers a sign-in of any kind, after the unit of work that began the session. Before it, `requireCookieAllowed` must have passed.
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
  setCookie(reply, deps.publicUrl(), 'session', token);
  return rest;
}

/** Checks, before any work, whether a sign-in may be answered by a cookie. @throws AppError 403 for a page of another origin */
export function requireCookieAllowed({ request }: FastifyReply, deps: AnswerDeps, asCookie: boolean): void {
  if (asCookie) refuseForeignPage(request, deps.publicUrl());
}
