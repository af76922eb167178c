import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, unauthenticated } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { addressKey, siteKey } from '../base/network/address.ts';
import type { Clock } from '../base/time.ts';
import {
  type Actor,
  type ApiOperation,
  mayDoNoLess,
  requireOperation,
  requireSession,
  type SignedIn,
} from './actor.ts';
import type { ClientAddress } from './connections.ts';
import { announcedLength, bodyLimit } from './json-body.ts';
import type { Budget, Limiter } from './limiter.ts';
import { cookieToken, requireOwnOrigin } from './session-cookie.ts';

/** Longer than any credential. */
const CREDENTIAL_MAX = 2048;

/** RFC 6750 §2.1; the scheme in any case (RFC 9110 §11.1). */
export const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
export const API_KEY = /^[0-9a-f]{64}$/;
const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Finds the actor behind a credential. Null: unknown, ended, or of no use here. */
export interface Credentials {
  /** @param token a JWT */
  session(token: string): Promise<Actor | null>;
  /** @param token 64 lower-case hexadecimal letters */
  apiKey(token: string): Promise<Actor | null>;
  /** Waits for updates of `last_used_at` under way. */
  settle(): Promise<void>;
}

export interface GuardDeps {
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly credentials: Credentials;
  /** Origin of absolute URLs, without a trailing slash. */
  readonly publicUrl: () => string;
}

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null;
    /** The writes as which the request was counted, and when, milliseconds since the epoch; null: not counted. */
    counted: { readonly at: number; readonly writes: number } | null;
    /** Time at which the credential was checked, milliseconds since the epoch. */
    checkedAt: number;
    /** The key of budgets of the client's address. */
    addressKey(): string;
    /** The key of budgets of the /48 around it; null over IPv4. */
    siteKey(): string | null;
    /** Checks the credential again; null: it has ended, acts for another customer, or may do less. For what waits, and answers that stay open. */
    renewActor(): Promise<Actor | null>;
  }
  interface FastifyContextConfig {
    /** The route requires a customer token and refuses API keys. */
    session?: boolean;
    /** The route needs no credential. `request.actor` is null without a valid one. */
    public?: boolean;
    /** A POST, PATCH or DELETE that does not draw on the write budget. */
    unmetered?: boolean;
  }
}

/** Milliseconds for which a body may come without another check of the credential. */
const BODY_MS = 250;

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Makes `request.addressKey()` and `request.siteKey()`, which `X-Forwarded-For` of trusted proxies counts for. */
export function decorateAddress(app: FastifyInstance, clientAddress: ClientAddress): void {
  /** Of the last request of a connection: nearly all have the same client, and its address costs 3 us to read. */
  const last = new WeakMap<object, AddressKeys>();
  const keysOf = ({ raw }: FastifyRequest): AddressKeys => {
    const { socket } = raw;
    const address = clientAddress(socket.remoteAddress, forwardedFor(raw));
    const known = last.get(socket);
    if (known !== undefined && known.of === address) return known;
    const keys = { of: address, address: addressKey(address), site: siteKey(address) };
    last.set(socket, keys);
    return keys;
  };
  app.decorateRequest('addressKey', function (this: FastifyRequest) {
    return keysOf(this).address;
  });
  app.decorateRequest('siteKey', function (this: FastifyRequest) {
    return keysOf(this).site;
  });
}

interface AddressKeys {
  readonly of: string | undefined;
  readonly address: string;
  readonly site: string | null;
}

/** `X-Forwarded-For`; several are joined by commas. */
export function forwardedFor({ headers }: IncomingMessage): string | undefined {
  const { 'x-forwarded-for': header } = headers;
  return Array.isArray(header) ? header.join(',') : header;
}

/** Makes `request.renewActor()`. It counts as no request. */
export function decorateRenewal(app: FastifyInstance, deps: GuardDeps): void {
  app.decorateRequest('renewActor', async function (this: FastifyRequest) {
    const renewed = await actorBehind(this, deps);
    return renewed !== null && mayDoNoLess(renewed, actorOf(this)) ? renewed : null;
  });
}

async function actorBehind(request: FastifyRequest, deps: GuardDeps): Promise<Actor | null> {
  const actor = await principalOf(request, deps);
  return actor && { ...actor, requestId: request.id };
}

/** Returns null without a valid credential; the request then counts for its address. @throws AppError 429 */
export async function identify(request: FastifyRequest, deps: GuardDeps): Promise<Actor | null> {
  const actor = await actorBehind(request, deps);
  if (actor === null) await take(deps.limiter, 'unauthenticated', request.addressKey());
  else await take(deps.limiter, 'authenticated', actor.customerId);
  return actor;
}

/**
 * Checks credential, request budget, scopes and write budget, in this order, before the body is read. A public route
 * draws on the request budget only.
 * @throws AppError 401, 403 or 429
 */
export async function guard(request: FastifyRequest, deps: GuardDeps): Promise<void> {
  const actor = await identify(request, deps);
  const { session, public: isPublic, unmetered } = request.routeOptions.config;
  if (isPublic === true) {
    request.actor = actor;
    return;
  }
  if (actor === null) {
    throw unauthenticated(faultOfCredentials(request.headers.authorization));
  }
  // Before the checks: what they refuse is noted with its actor.
  request.actor = actor;
  // Without the header, the credential was a cookie.
  if (request.headers.authorization === undefined) requireOwnOrigin(request, deps.publicUrl());
  if (session === true) requireSession(actor);
  const operation: ApiOperation = READS.has(request.method) ? 'read' : 'write';
  requireOperation(actor, operation);
  const now = deps.clock();
  request.checkedAt = now;
  if (operation === 'read' || unmetered === true) return;
  const length = announcedLength(request) ?? 0;
  // Of a body that is too large nothing is read.
  const writes = length > LIMITS.requestBody && length > bodyLimit(request) ? 1 : writesOf(length);
  await take(deps.limiter, 'writes', actor.customerId, writes);
  request.counted = { at: now, writes };
}

/** Counts the writes of a body whose length was not announced: `guard` counted it as one. @throws AppError 429 */
export async function chargeBody(
  request: FastifyRequest,
  octets: number,
  { limiter }: GuardDeps,
): Promise<void> {
  const { actor, counted } = request;
  const more = writesOf(octets) - 1;
  if (actor === null || counted === null || more === 0) return;
  await take(limiter, 'writes', actor.customerId, more);
  request.counted = { at: counted.at, writes: counted.writes + more };
}

function writesOf(octets: number): number {
  return Math.max(1, Math.ceil(octets / LIMITS.writeOctets));
}

function faultOfCredentials(header: string | undefined): string {
  if (header === undefined) return 'Credentials are missing';
  return /^Bearer( |$)/i.test(header)
    ? 'Credentials are not valid'
    : 'Authorization must be Bearer and a token';
}

/**
 * A client may take 30 seconds to send a body. When the session or the key has ended meanwhile, or acts for another customer, the request
 * must not begin.
 * @returns null: nothing to wait for. Rejects with AppError 401
 */
export function guardAfterBody(request: FastifyRequest, { clock }: GuardDeps): Promise<void> | null {
  const { actor, checkedAt } = request;
  if (actor === null || request.routeOptions.config.public === true) return null;
  return Math.abs(clock() - checkedAt) < BODY_MS ? null : requireRenewal(request);
}

/** Renews the actor of a guarded request that has waited. @throws AppError 401 */
export async function requireRenewal(request: FastifyRequest): Promise<void> {
  const renewed = await request.renewActor();
  if (renewed === null) throw unauthenticated('Credentials are not valid');
  request.actor = renewed;
}

/** The actor of the bearer credential, else of the session cookie, which public routes do not read. Null: no valid credential. */
async function principalOf(
  request: FastifyRequest,
  { credentials, publicUrl }: GuardDeps,
): Promise<Actor | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    // Node keeps the first of two headers. A proxy may have checked the other one.
    if (isRepeated(request, 'authorization') || authorization.length > CREDENTIAL_MAX) return null;
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) return null;
    if (API_KEY.test(token)) return credentials.apiKey(token);
    return JWT.test(token) ? credentials.session(token) : null;
  }
  if (request.routeOptions.config?.public === true) return null;
  // Node joins two headers (RFC 6265 §5.4 allows one). A proxy may have checked one of them.
  if (isRepeated(request, 'cookie')) return null;
  const token = cookieToken(request, publicUrl());
  if (token === null || token.length > CREDENTIAL_MAX || !JWT.test(token)) return null;
  return credentials.session(token);
}

/** Whether a header was sent more than once. @param name in lower case */
export function isRepeated({ raw }: FastifyRequest, name: string): boolean {
  const { rawHeaders } = raw;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const text = rawHeaders[i]!;
    if (text.length === name.length && text.toLowerCase() === name) count++;
  }
  return count > 1;
}

const UNCOUNTED: ReadonlySet<string> = new Set(['authorization_error', 'rate_limit_exceeded']);

/** Reverses the count of a write that was refused with 403 or 429: it does not use the write budget. */
export async function uncountRefusedWrite(
  request: FastifyRequest,
  { limiter }: GuardDeps,
  error: unknown,
): Promise<void> {
  const { actor, counted } = request;
  if (actor === null || counted === null) return;
  if (!(error instanceof AppError) || !UNCOUNTED.has(error.code)) return;
  await limiter.giveBack('writes', actor.customerId, counted.at, counted.writes);
}

/** @throws AppError 429 */
export async function take(limiter: Limiter, budget: Budget, key: string, hits = 1): Promise<void> {
  const retryAfter = await limiter.take(budget, key, hits);
  if (retryAfter > 0) throw new AppError('rate_limit_exceeded', 'Rate limit exceeded', { retryAfter });
}

/** The actor that `guard` found. @throws Error on a route without the guard, which is a fault of the server */
export function actorOf(request: FastifyRequest): Actor {
  if (request.actor === null) throw new Error('the route has no guard');
  return request.actor;
}

/** The user that `guard` found on a route for sessions alone. */
export function userOf(request: FastifyRequest): SignedIn {
  const actor = actorOf(request);
  requireSession(actor);
  return actor;
}
