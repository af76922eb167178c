import fastify, { type FastifyInstance, type FastifyPluginCallback, type FastifyRequest } from 'fastify';
import { NO_ROUTE_SCHEMAS } from '../../base/lifecycle/http.ts';
import { addressSet } from '../../base/network/address.ts';
import type { Metrics } from './metrics.ts';
import type { UnreadyReason } from './vocabulary.ts';

export interface Readiness {
  readonly ready: boolean;
  /** Why not; empty when ready. */
  readonly reasons: readonly UnreadyReason[];
  /** Of a node with a view: whether it is cut off from its source, and how far it is behind. */
  readonly feed?: { readonly stale: boolean; readonly seq: number; readonly seconds: number } | null;
}

export interface OpsOptions {
  readonly readiness: () => Readiness;
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Who gets `/metrics`: clients on this host, or nobody. */
  readonly metricsFor: 'this host' | 'nobody';
}

/** What `/readyz` answers. */
export interface ReadyAnswer {
  readonly status: number;
  readonly body: {
    readonly ready: boolean;
    readonly reasons?: readonly UnreadyReason[];
    readonly stale?: boolean;
    readonly lag?: { readonly changes: number; readonly seconds: number };
  };
}

export interface MetricsText {
  readonly text: string;
  readonly contentType: string;
}

export function readyAnswer({ ready, reasons, feed }: Readiness): ReadyAnswer {
  const body = { ready, ...(ready ? {} : { reasons }) };
  if (feed == null) return { status: ready ? 200 : 503, body };
  const { stale, seq, seconds } = feed;
  return { status: ready ? 200 : 503, body: { ...body, stale, lag: { changes: seq, seconds } } };
}

/**
 * `/livez` (200 while the process runs), `/readyz` (200, or 503 with the reasons) and `/metrics` (Prometheus text; 404 to
 * clients that do not get it).
 */
export const opsRoutes: FastifyPluginCallback<OpsOptions> = (
  app,
  { readiness, metrics, metricsFor },
  done,
) => {
  app.get('/livez', (_request, reply) => reply.header('cache-control', 'no-store').send({ live: true }));

  app.get('/readyz', (_request, reply) => {
    const { status, body } = readyAnswer(readiness());
    return reply.code(status).header('cache-control', 'no-store').send(body);
  });

  app.get('/metrics', async (request, reply) => {
    if (metricsFor === 'nobody' || !isLocal(request)) return reply.callNotFound();
    const text = await metrics.text();
    return reply.header('cache-control', 'no-store').type(metrics.contentType).send(text);
  });

  done();
};

/** Milliseconds and octets: the times of the REST API, and a body that these routes have no use for. */
const LIMITS_OF_APP = {
  body: 1024,
  headers: 10_000,
  request: 30_000,
  keepAlive: 72_000,
  idle: 120_000,
  check: 5_000,
};

/** A server for these routes alone, for a process without the REST API. */
export function createOpsApp(): FastifyInstance {
  const { body, headers, request, keepAlive, idle, check } = LIMITS_OF_APP;
  return fastify({
    logger: false,
    schemaController: NO_ROUTE_SCHEMAS,
    bodyLimit: body,
    requestTimeout: request,
    keepAliveTimeout: keepAlive,
    connectionTimeout: idle,
    http: { headersTimeout: headers, connectionsCheckingInterval: check },
    forceCloseConnections: 'idle',
  });
}

const isLoopback = addressSet(['127.0.0.0/8', '::1']);

/**
 * A proxy on this host makes everyone look local, so a forwarded request is not. The `Host` header must name this host too: else
 * a web page whose name was made to resolve to 127.0.0.1 (DNS rebinding) could read the metrics through a browser on this host.
 */
function isLocal(request: FastifyRequest): boolean {
  const { 'x-forwarded-for': forwardedFor, forwarded } = request.headers;
  const address = request.socket.remoteAddress;
  if (address === undefined || forwardedFor !== undefined || forwarded !== undefined) return false;
  if (!isLocalName(request.hostname)) return false;
  return isLoopback(address);
}

/** @param hostname of the `Host` header, without its port */
function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}
