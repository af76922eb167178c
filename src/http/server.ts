import type { Server } from 'node:http';
import Fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { type Random, randomUuid } from '../base/chance.ts';
import { AppError, malformed } from '../base/errors.ts';
import { createHeldOctets, type HeldOctets } from '../base/lifecycle/held-octets.ts';
import { type HttpObservation, NO_ROUTE_SCHEMAS } from '../base/lifecycle/http.ts';
import type { Timers } from '../base/lifecycle/timers.ts';
import { LIMITS } from '../base/limits.ts';
import type { Actor } from './actor.ts';
import { type OnFailure, refuseConnection, sendError } from './answers.ts';
import { createBodyBudget, type FreeMemory } from './body-budget.ts';
import { clientAddress, shareConnections } from './connections.ts';
import {
  chargeBody,
  decorateAddress,
  decorateRenewal,
  forwardedFor,
  type GuardDeps,
  guard,
  guardAfterBody,
  identify,
  isRepeated,
  uncountRefusedWrite,
} from './guard.ts';
import { readJsonBodies, refuseCoding } from './json-body.ts';
import { collectRoutes, type DescribedRoute } from './openapi/document.ts';
import { refuseUnknown } from './request.ts';
import { holdUnsentAnswers } from './unsent-answers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Route template, for metrics, of what `HttpDeps.serveOther` served; null: nothing. */
    otherRoute: string | null;
  }
}

const PREFIX = '/api/v1';

/** Milliseconds. The server closes a connection that sends its request, or reads its answer, too slowly. */
const TIMES = { headers: 10_000, request: 30_000, keepAlive: 72_000, idle: 120_000, check: 5_000 };

/** Characters. Node refuses request heads of more than 16 KiB. */
const LONGEST_PATH = 16_384;

/**
 * Answers a request for a path that no route has, before it counts for any budget.
 * @returns a route template for metrics; null: nothing was sent, and the client gets the API's 404
 */
export type ServeOther = (request: FastifyRequest, reply: FastifyReply) => Promise<string | null>;

export interface HttpDeps extends GuardDeps {
  readonly timers: Timers;
  /** Makes the ids of requests. */
  readonly random: Random;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, and networks in CIDR form. */
  readonly trustedProxies: readonly string[];
  /** What else the port serves. */
  readonly serveOther?: ServeOther;
  readonly freeMemory?: FreeMemory;
  /** Counts answers that the system has not taken. */
  readonly unsent?: HeldOctets;
  readonly observe?: (observation: HttpObservation) => void;
  /** Called with a request that was answered 403. */
  readonly onRefused?: (request: FastifyRequest, actor: Actor) => void;
  /** Called for faults of the server: the client reads only `Server error`. */
  readonly onError?: OnFailure;
}

/**
 * A server of a REST API at `/api/v1`. The caller may add other paths, then listens. Closing finishes requests in flight.
 * @param addRoutes adds the routes of the API; `routes` is the list of them, complete once the server is ready
 */
export function createServer(
  deps: HttpDeps,
  addRoutes: (api: FastifyInstance, routes: readonly DescribedRoute[]) => void,
): FastifyInstance {
  const onError = deps.onError ?? (() => {});
  const app = Fastify(options(deps.random, onError));
  const exactPaths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    if (!url.includes(':')) exactPaths.add(url);
  });

  app.decorateRequest('actor', null);
  app.decorateRequest('counted', null);
  app.decorateRequest('checkedAt', 0);
  app.decorateRequest('otherRoute', null);
  const addressOf = clientAddress(deps.trustedProxies);
  decorateAddress(app, addressOf);
  decorateRenewal(app, deps);
  shareConnections(app.server, {
    clock: deps.clock,
    forwarded: (request) => {
      if (deps.trustedProxies.length === 0) return null;
      const peer = request.socket.remoteAddress;
      const client = addressOf(peer, forwardedFor(request));
      return client === peer ? null : client;
    },
  });
  app.removeAllContentTypeParsers();
  readJsonBodies(app, PREFIX, {
    budget: createBodyBudget(deps),
    timers: deps.timers,
    charge: (request, octets) => chargeBody(request, octets, deps),
  });
  holdUnsentAnswers(app, deps.unsent ?? createHeldOctets(LIMITS.unsentOctets));
  app.setErrorHandler(async (error, request, reply) => {
    await uncountRefusedWrite(request, deps, error).catch((fault: unknown) => onError(fault, request.id));
    if (isForbidden(error) && request.actor !== null) deps.onRefused?.(request, request.actor);
    return sendError(reply, error, onError);
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    // RFC 9112 §3.2: one, and a proxy may have read the other of two. Node's own refusal has no JSON body.
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw malformed(400, 'Host is missing');
    }
    if (isRepeated(request, 'host')) throw malformed(400, 'Host is given more than once');
    if (request.is404) {
      request.otherRoute = (await deps.serveOther?.(request, reply)) ?? null;
      if (request.otherRoute !== null) return reply;
    }
    const refusal = request.is404 ? refusalOf(app, request.url) : shadowedBy(app, exactPaths, request);
    if (refusal === null) return undefined;
    await identify(request, deps);
    if (refusal.allow !== null) reply.header('allow', refusal.allow);
    throw refusal.error;
  });
  app.addHook('onResponse', async (request, reply) => {
    deps.observe?.({
      route: routeOf(request),
      method: request.method,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
    });
  });
  app.addHook('onClose', () => deps.credentials.settle());
  app.register(
    async (api) => {
      api.addHook('onRequest', async (request, reply) => {
        // Answers belong to one customer, and some contain a secret.
        reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
        await guard(request, deps);
        refuseCoding(request);
      });
      api.addHook('preHandler', (request, _reply, done) => {
        const renewal = guardAfterBody(request, deps);
        if (renewal === null) done();
        else void renewal.then(() => done(), done);
      });
      api.addHook('preHandler', (request, reply, done) => {
        const { operation, status = 200 } = request.routeOptions.config;
        if (operation !== undefined) refuseUnknown(request, operation);
        reply.code(status);
        done();
      });
      addRoutes(api, collectRoutes(api));
    },
    { prefix: PREFIX },
  );
  return app;
}

function isForbidden(error: unknown): boolean {
  return error instanceof AppError && error.code === 'authorization_error';
}

function options(random: Random, onError: OnFailure): FastifyHttpOptions<Server> {
  return {
    logger: false,
    schemaController: NO_ROUTE_SCHEMAS,
    // Never the client's id: it would appear in logs with any content.
    genReqId: () => randomUuid(random),
    requestIdHeader: false,
    bodyLimit: LIMITS.requestBody,
    // Longer than any path: an id of whatever length is one that nothing has.
    routerOptions: { maxParamLength: LONGEST_PATH },
    requestTimeout: TIMES.request,
    keepAliveTimeout: TIMES.keepAlive,
    connectionTimeout: TIMES.idle,
    http: {
      headersTimeout: TIMES.headers,
      connectionsCheckingInterval: TIMES.check,
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    // While closing, requests on open connections are still answered.
    return503OnClosing: false,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, _request, reply) => {
      sendError(reply, error, onError);
    },
  };
}

function routeOf(request: FastifyRequest): string {
  return request.is404 ? (request.otherRoute ?? 'unmatched') : (request.routeOptions.url ?? 'unmatched');
}

interface Refusal {
  readonly error: AppError;
  /** The `Allow` header of a 405. */
  readonly allow: string | null;
}

/** What the router knows of a path: which methods reach it, and whether by a route without parameters. */
interface Match {
  readonly method: string;
  readonly isExact: boolean;
}

/** A request that matched no route: 405 where the path exists, else 404. */
function refusalOf(app: FastifyInstance, url: string): Refusal {
  const matches = matchesOf(app, url);
  if (matches.length === 0) return { error: new AppError('not_found', 'Route not found'), allow: null };
  const exact = matches.filter(({ isExact }) => isExact);
  return notAllowed(exact.length > 0 ? exact : matches);
}

/**
 * A request that matched a route with parameters although its path is that of a route without, under another method:
 * `GET /records/bulk` matches `/records/:id`.
 * @param exactPaths of all routes without parameters
 * @returns 405, or null when there is no such route
 */
function shadowedBy(
  app: FastifyInstance,
  exactPaths: ReadonlySet<string>,
  request: FastifyRequest,
): Refusal | null {
  const { url, routeOptions } = request;
  if (routeOptions.url?.includes(':') !== true) return null;
  const path = pathOf(url);
  // Only the router knows what an encoded one leads to.
  if (!path.includes('%') && !exactPaths.has(path)) return null;
  const exact = matchesOf(app, url).filter(({ isExact }) => isExact);
  return exact.length === 0 ? null : notAllowed(exact);
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

function matchesOf(app: FastifyInstance, url: string): readonly Match[] {
  const path = pathOf(url);
  return app.supportedMethods.flatMap((method) => {
    const found = app.findRoute({ url: path, method });
    return found === null ? [] : [{ method, isExact: Object.keys(found.params).length === 0 }];
  });
}

function notAllowed(matches: readonly Match[]): Refusal {
  const allow = matches.map(({ method }) => method).sort();
  return { error: malformed(405, 'Method is not allowed here'), allow: allow.join(', ') };
}
