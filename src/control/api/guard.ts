import type { FastifyRequest } from 'fastify';
import { AppError, unauthenticated } from '../../core/errors.ts';
import { type Actor, type ApiOperation, requireOperation, requireSession } from '../accounts/actor.ts';
import type { ApiKeys } from '../keys/authenticate.ts';
import { addressKey } from '../limits/address.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Budget } from '../limits/rules.ts';
import type { ApiDeps } from './deps.ts';
import { resolvePrincipal } from './principal.ts';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null;
  }
  interface FastifyContextConfig {
    /** The route is the account's own: API keys are refused. */
    session?: boolean;
  }
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Judges a request before its body is read: credential, request budget, scopes, write budget, in this order. A request
 * without a credential that counts draws on its address's budget, and is told so once that is empty.
 *
 * @throws AppError 401, 403 or 429
 */
export async function guard(request: FastifyRequest, deps: ApiDeps, apiKeys: ApiKeys): Promise<void> {
  const header = request.headers.authorization;
  const actor = await resolvePrincipal(header, deps.sessions, apiKeys);
  if (actor === null) {
    await takeUnauthenticated(deps.limiter, request);
    throw unauthenticated(header === undefined ? 'Credentials are missing' : 'Credentials are not valid');
  }
  await take(deps.limiter, 'authenticated', actor.customerId);
  if (request.routeOptions.config.session === true) requireSession(actor);
  const operation: ApiOperation = READS.has(request.method) ? 'read' : 'write';
  requireOperation(actor, operation);
  if (operation === 'write') await take(deps.limiter, 'writes', actor.customerId);
  request.actor = actor;
}

/** Counts a request of nobody we know. @throws AppError 429 */
export function takeUnauthenticated(limiter: Limiter, request: FastifyRequest): Promise<void> {
  return take(limiter, 'unauthenticated', addressKey(request.ip));
}

/** Counts a hit on a budget. @throws AppError 429 */
export async function take(limiter: Limiter, budget: Budget, key: string): Promise<void> {
  const retryAfter = await limiter.take(budget, key);
  if (retryAfter > 0) throw new AppError('rate_limit_exceeded', 'Rate limit exceeded', { retryAfter });
}

/** The actor that `guard` found; there is one on every route behind it. */
export function actorOf(request: FastifyRequest): Actor {
  if (request.actor === null) throw new Error('the route is not behind the guard');
  return request.actor;
}
