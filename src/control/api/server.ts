import type { Server } from 'node:http';
import Fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyRequest } from 'fastify';
import { malformed } from '../../core/errors.ts';
import { LIMITS } from '../../core/limits.ts';
import { openApiKeys } from '../keys/authenticate.ts';
import { accountRoutes } from './account.ts';
import { apiKeyRoutes } from './api-keys.ts';
import type { ApiDeps } from './deps.ts';
import { refuseConnection, sendError } from './errors.ts';
import { guard, takeUnauthenticated } from './guard.ts';
import { namespaceRoutes } from './namespaces.ts';
import { queryTokenRoutes } from './query-tokens.ts';
import { recordRoutes } from './records.ts';
import { routeTable } from './routing.ts';
import { webhookRoutes } from './webhooks.ts';

/** Path prefix of the REST API (specification, Versioning). */
const PREFIX = '/api/v1';

/** Milliseconds. A client that drips its request, or never takes its answer, loses the connection. */
const TIMES = { headers: 10_000, request: 30_000, keepAlive: 72_000, idle: 120_000, check: 5_000 };

const RESOURCES = [
  recordRoutes,
  namespaceRoutes,
  queryTokenRoutes,
  apiKeyRoutes,
  webhookRoutes,
  accountRoutes,
];

/**
 * Makes the REST API, mounted at `/api/v1`. The caller may add routes of its own at other paths, then listens; closing it
 * finishes what is in flight.
 */
export function createApi(deps: ApiDeps): FastifyInstance {
  const onError = deps.onError ?? (() => {});
  const app = Fastify(options(onError));
  const routes = routeTable(app);
  const apiKeys = openApiKeys(deps, onError);

  app.decorateRequest('actor', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, jsonParser(app));
  app.setErrorHandler((error, _request, reply) => sendError(reply, error, onError));
  app.addHook('onRequest', async (request, reply) => {
    // RFC 9112 §3.2; Node would refuse it without a body.
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw malformed(400, 'Host is missing');
    }
    if (!request.is404) return;
    await takeUnauthenticated(deps.limiter, request);
    const { error, allow } = routes.refusal(request.url);
    if (allow !== null) reply.header('allow', allow);
    throw error;
  });
  app.addHook('onResponse', async (request, reply) => {
    deps.observe?.({
      route: routeOf(request),
      method: request.method,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
    });
  });
  app.addHook('onClose', () => apiKeys.settle());
  app.register(
    async (api) => {
      api.addHook('onRequest', async (request, reply) => {
        // Answers are one customer's own, and some carry a secret.
        reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
        await guard(request, deps, apiKeys);
      });
      for (const routesOf of RESOURCES) routesOf(api, deps);
    },
    { prefix: PREFIX },
  );
  return app;
}

function options(onError: (error: unknown) => void): FastifyHttpOptions<Server> {
  return {
    logger: false,
    bodyLimit: LIMITS.requestBody,
    requestTimeout: TIMES.request,
    keepAliveTimeout: TIMES.keepAlive,
    connectionTimeout: TIMES.idle,
    http: {
      headersTimeout: TIMES.headers,
      connectionsCheckingInterval: TIMES.check,
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    // While closing, what comes in over open connections is still answered, in our own form.
    return503OnClosing: false,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, _request, reply) => {
      sendError(reply, error, onError);
    },
  };
}

type Done = (error: Error | null, body?: unknown) => void;

/** Strict UTF-8 and JSON; an empty body is no body. `__proto__` and its like are refused, not dropped. */
function jsonParser(app: FastifyInstance) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const parse = app.getDefaultJsonParser('error', 'error');
  const refuse = (done: Done) => done(malformed(400, 'Body is not valid JSON'));
  return (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    const text = decodeUtf8(utf8, bytes);
    if (text === null) refuse(done);
    else if (text === '') done(null, undefined);
    else void parse(request, text, (error, body) => (error === null ? done(null, body) : refuse(done)));
  };
}

function decodeUtf8(utf8: TextDecoder, bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
}
