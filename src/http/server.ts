import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import Fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyRequest } from 'fastify';
import { malformed } from '../base/errors.ts';
import { NO_ROUTE_SCHEMAS } from '../base/lifecycle/no-route-schemas.ts';
import { LIMITS } from '../base/limits.ts';
import { openApiKeys } from '../control/keys/authenticate.ts';
import { type OnFailure, refuseConnection, sendError } from './answers/errors.ts';
import { refusalOf, shadowedBy } from './answers/routing.ts';
import { shareConnections } from './connections.ts';
import type { ApiDeps } from './deps.ts';
import { createBodyBudget } from './limits/body-budget.ts';
import { clientAddress } from './limits/client-address.ts';
import { collectRoutes } from './openapi/collect-routes.ts';
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
} from './requests/guard.ts';
import { readJsonBodies, refuseCoding } from './requests/json-body.ts';
import { accountRoutes } from './routes/account.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { datasetRoutes } from './routes/datasets.ts';
import { namespaceRoutes } from './routes/namespaces.ts';
import { organizationRoutes } from './routes/organizations.ts';
import { passkeyRoutes } from './routes/passkeys.ts';
import { queryLogRoutes } from './routes/query-logs.ts';
import { queryTokenRoutes } from './routes/query-tokens.ts';
import { recordRoutes } from './routes/records.ts';
import { serviceRoutes } from './routes/service.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { usageRoutes } from './routes/usage.ts';
import { webhookRoutes } from './routes/webhooks.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Route template, for metrics, of what `ApiDeps.serveOther` served; null: nothing. */
    otherRoute: string | null;
  }
}

const PREFIX = '/api/v1';

/** Milliseconds. The server closes a connection that sends its request, or reads its answer, too slowly. */
const TIMES = { headers: 10_000, request: 30_000, keepAlive: 72_000, idle: 120_000, check: 5_000 };

/** Characters. Node refuses request heads of more than 16 KiB. */
const LONGEST_PATH = 16_384;

const RESOURCES = [
  recordRoutes,
  namespaceRoutes,
  queryTokenRoutes,
  apiKeyRoutes,
  webhookRoutes,
  usageRoutes,
  queryLogRoutes,
  passkeyRoutes,
  accountRoutes,
  signInRoutes,
];

/** The REST API at `/api/v1`. The caller may add other paths, then listens. Closing finishes requests in flight. */
export function createApi(deps: ApiDeps): FastifyInstance {
  const onError = deps.onError ?? (() => {});
  const app = Fastify(options(onError));
  const apiKeys = openApiKeys(deps, onError);
  const guardDeps: GuardDeps = { ...deps, apiKeys };

  app.decorateRequest('actor', null);
  app.decorateRequest('counted', null);
  app.decorateRequest('checkedAt', 0);
  app.decorateRequest('otherRoute', null);
  const addressOf = clientAddress(deps.trustedProxies);
  decorateAddress(app, addressOf);
  decorateRenewal(app, guardDeps);
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
  app.setErrorHandler(async (error, request, reply) => {
    await uncountRefusedWrite(request, deps, error).catch((fault: unknown) => onError(fault, request.id));
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
    const refusal = request.is404
      ? refusalOf(app, request.url)
      : shadowedBy(app, request.url, request.routeOptions.url ?? '');
    if (refusal === null) return undefined;
    await identify(request, guardDeps);
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
  app.addHook('onClose', async () => {
    await Promise.all([apiKeys.settle(), deps.sessions.settle()]);
  });
  app.register(
    async (api) => {
      api.addHook('onRequest', async (request, reply) => {
        // Answers belong to one customer, and some contain a secret.
        reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
        await guard(request, guardDeps);
        refuseCoding(request);
      });
      api.addHook('preHandler', (request, _reply, done) => {
        const renewal = guardAfterBody(request, deps);
        if (renewal === null) done();
        else void renewal.then(() => done(), done);
      });
      const routes = collectRoutes(api);
      for (const routesOf of RESOURCES) routesOf(api, deps);
      if (deps.organizations) organizationRoutes(api, deps);
      if (deps.service.features.datasets) datasetRoutes(api, deps);
      serviceRoutes(api, deps, routes);
    },
    { prefix: PREFIX },
  );
  return app;
}

function options(onError: OnFailure): FastifyHttpOptions<Server> {
  return {
    logger: false,
    schemaController: NO_ROUTE_SCHEMAS,
    // Never the client's id: it would appear in logs with any content.
    genReqId: () => randomUUID(),
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
