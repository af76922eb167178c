import type { FastifyRequest } from 'fastify';
import { AppError, unauthenticated } from '../../../core/errors.ts';
import { type Actor, type ApiOperation, requireOperation, requireSession } from '../../accounts/actor.ts';
import type { ApiKeys } from '../../keys/authenticate.ts';
import { addressKey } from '../../limits/address.ts';
import type { ClientAddress } from '../../limits/client-address.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Budget } from '../../limits/rules.ts';
import type { ApiDeps } from '../deps.ts';
import { resolvePrincipal } from './principal.ts';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null;
    /** Time at which the request was counted as a write, milliseconds since the epoch; null: not counted. */
    countedAt: number | null;
  }
  interface FastifyContextConfig {
    /** The route requires a customer token and refuses API keys. */
    session?: boolean;
  }
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export interface GuardDeps extends ApiDeps {
  readonly apiKeys: ApiKeys;
  readonly clientAddress: ClientAddress;
}

/** Returns null without a valid credential; the request then counts for its address. @throws AppError 429 */
export async function identify(request: FastifyRequest, deps: GuardDeps): Promise<Actor | null> {
  const actor = await resolvePrincipal(request.headers.authorization, deps.sessions, deps.apiKeys);
  if (actor === null) {
    const { 'x-forwarded-for': header } = request.headers;
    const forwarded = Array.isArray(header) ? header.join(',') : header;
    const address = deps.clientAddress(request.socket.remoteAddress, forwarded);
    await take(deps.limiter, 'unauthenticated', addressKey(address));
  } else await take(deps.limiter, 'authenticated', actor.customerId);
  return actor;
}

/**
 * Checks credential, request budget, scopes and write budget, in this order, before the body is read.
 * @throws AppError 401, 403 or 429
 */
export async function guard(request: FastifyRequest, deps: GuardDeps): Promise<void> {
  const actor = await identify(request, deps);
  if (actor === null) {
    const isMissing = request.headers.authorization === undefined;
    throw unauthenticated(isMissing ? 'Credentials are missing' : 'Credentials are not valid');
  }
  if (request.routeOptions.config.session === true) requireSession(actor);
  const operation: ApiOperation = READS.has(request.method) ? 'read' : 'write';
  requireOperation(actor, operation);
  request.actor = actor;
  if (operation === 'read') return;
  const now = deps.clock();
  await take(deps.limiter, 'writes', actor.customerId);
  request.countedAt = now;
}

/** Reverses the count of a write that was refused with 403: it does not use the write budget. */
export async function uncountRefusedWrite(
  request: FastifyRequest,
  { limiter }: ApiDeps,
  error: unknown,
): Promise<void> {
  const { actor, countedAt } = request;
  if (actor === null || countedAt === null) return;
  if (!(error instanceof AppError) || error.code !== 'authorization_error') return;
  await limiter.giveBack('writes', actor.customerId, countedAt);
}

/** @throws AppError 429 */
export async function take(limiter: Limiter, budget: Budget, key: string): Promise<void> {
  const retryAfter = await limiter.take(budget, key);
  if (retryAfter > 0) throw new AppError('rate_limit_exceeded', 'Rate limit exceeded', { retryAfter });
}

/** The actor that `guard` found. @throws Error on a route without the guard, which is a fault of the server */
export function actorOf(request: FastifyRequest): Actor {
  if (request.actor === null) throw new Error('the route has no guard');
  return request.actor;
}
