import type { AddressInfo, Server, Socket } from 'node:net';
import { LIMITS } from '../../core/limits.ts';
import { ReplyDecorator } from './decorator.ts';
import { ConnectionGate, closeWithin, type GateLimits, guard } from './gate.ts';
import type { TransportName } from './handler.ts';
import { type Listener, type ListenOptions, once } from './listener.ts';
import type { QueryMeter } from './rate-limit.ts';
import { StreamConnection } from './stream-connection.ts';

export interface StreamLimits extends GateLimits {
  /** Milliseconds of silence, or for one message to become complete, after which a connection is closed. */
  readonly idleMs: number;
  /** Milliseconds for a full write buffer to empty. */
  readonly drainMs: number;
  /** Queries in flight on one connection. */
  readonly pipeline: number;
}

export const STREAM_LIMITS: StreamLimits = {
  connections: LIMITS.tcpConnections,
  connectionsPerAddress: LIMITS.tcpConnectionsPerAddress,
  idleMs: LIMITS.tcpIdleMs,
  drainMs: 10_000,
  pipeline: LIMITS.tcpPipeline,
};

export interface StreamOptions extends ListenOptions {
  /** Those not given are the product's. */
  readonly limits?: Partial<StreamLimits>;
  /** Rate limiting: what counts the queries of one peer. */
  readonly meter?: ((address: string) => QueryMeter) | null;
}

/** A crowded listener has this much less patience with the idle. */
const CROWDED_DIVISOR = 4;
/** Deadlines are looked at this many times within the shortest of them. */
const SWEEPS = 4;
const BACKLOG = 4096;

/**
 * DNS over any `net.Server`: the accounting of connections, their deadlines, and an orderly end.
 *
 * @param server not yet listening, made with `allowHalfOpen` and a high-water mark of `WRITE_BUFFER_OCTETS`
 * @param ready the event with which it hands out a usable socket: 'connection', or 'secureConnection' for TLS
 */
export async function serveStreams(
  server: Server,
  ready: 'connection' | 'secureConnection',
  transport: TransportName,
  options: StreamOptions,
): Promise<Listener> {
  const limits = { ...STREAM_LIMITS, ...options.limits };
  const gate = new ConnectionGate(limits);
  const open = new Map<Socket, StreamConnection>();
  const idleMs = (): number => (gate.crowded ? limits.idleMs / CROWDED_DIVISOR : limits.idleMs);
  // What peers are told is what they are held to.
  const decorator = new ReplyDecorator(transport, { cookies: options.cookies ?? null, idleMs });
  const context = { ...options, transport, decorator, pipeline: limits.pipeline };

  let closing = false;
  const sockets = guard(server, transport, gate, options.observe, () => evictOldestIdle(open));
  server.on(ready, (socket: Socket) => {
    if (socket.destroyed) return;
    const connection = new StreamConnection(socket, context);
    if (closing) connection.drain();
    open.set(socket, connection);
    socket.once('close', () => open.delete(socket));
  });

  const sweeper = setInterval(
    () => sweep(open.values(), options.clock(), idleMs(), limits.drainMs),
    Math.max(10, Math.min(limits.idleMs, limits.drainMs) / SWEEPS),
  );
  sweeper.unref();

  const address = await listening(server, options).catch((fault: unknown) => {
    clearInterval(sweeper);
    throw fault;
  });
  server.on('error', options.onFault);
  return {
    transport,
    address,
    close: once(async (graceMs) => {
      closing = true;
      for (const connection of open.values()) connection.drain();
      await closeWithin(server, sockets, graceMs);
      clearInterval(sweeper);
    }),
  };
}

/** Makes way for a newcomer (RFC 7766 §6.2.2). Taken out of `open` at once: its 'close' event comes in a later turn. */
function evictOldestIdle(open: Map<Socket, StreamConnection>): boolean {
  let oldest: Socket | null = null;
  let since = Number.POSITIVE_INFINITY;
  for (const [socket, connection] of open) {
    if (!connection.idle || connection.activeAt >= since) continue;
    oldest = socket;
    since = connection.activeAt;
  }
  if (oldest === null) return false;
  oldest.destroy();
  return open.delete(oldest);
}

function sweep(open: Iterable<StreamConnection>, now: number, idleMs: number, drainMs: number): void {
  for (const connection of open) {
    const { activeAt, stalledAt, inFlight } = connection;
    const idleTooLong = inFlight === 0 && now - activeAt >= idleMs;
    const stalledTooLong = stalledAt !== null && now - stalledAt >= drainMs;
    if (idleTooLong || stalledTooLong) connection.destroy();
  }
}

/** Listens; the promise fails as `listen` does (address in use, no permission). */
export function listening(
  server: Server,
  options: Pick<ListenOptions, 'host' | 'port' | 'reusePort'>,
): Promise<{ host: string; port: number }> {
  const { host, port, reusePort } = options;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, reusePort, backlog: BACKLOG }, () => {
      server.off('error', reject);
      const bound = server.address() as AddressInfo;
      resolve({ host: bound.address, port: bound.port });
    });
  });
}
