import { BlockList, isIPv6 } from 'node:net';
import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import type { Metrics } from './metrics.ts';
import type { UnreadyReason } from './vocabulary.ts';

export interface Readiness {
  readonly ready: boolean;
  /** Why not; empty when ready. */
  readonly reasons: readonly UnreadyReason[];
}

export interface OpsOptions {
  readonly readiness: () => Readiness;
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
}

/**
 * `/livez` (200 while the process runs), `/readyz` (200, or 503 with the reasons) and `/metrics` (Prometheus text, for
 * clients on this host only: anyone else is told that there is no such route).
 */
export const opsRoutes: FastifyPluginCallback<OpsOptions> = (app, { readiness, metrics }, done) => {
  app.get('/livez', (_request, reply) => reply.header('cache-control', 'no-store').send({ live: true }));

  app.get('/readyz', (_request, reply) => {
    const { ready, reasons } = readiness();
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ ready, reasons });
  });

  app.get('/metrics', async (request, reply) => {
    if (!isLocal(request)) return reply.callNotFound();
    const text = await metrics.text();
    return reply.header('cache-control', 'no-store').type(metrics.contentType).send(text);
  });

  done();
};

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** A proxy on this host makes everyone look local, so a forwarded request is not. */
function isLocal(request: FastifyRequest): boolean {
  const { 'x-forwarded-for': forwardedFor, forwarded } = request.headers;
  const address = request.socket.remoteAddress;
  if (address === undefined || forwardedFor !== undefined || forwarded !== undefined) return false;
  return loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
