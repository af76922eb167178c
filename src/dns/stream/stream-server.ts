import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { every } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import {
  admitConnections,
  CONNECTION_LIMITS,
  ConnectionLimit,
  type ConnectionLimits,
} from '../shared/admission.ts';
import type { ConnectionTable } from '../shared/connection-table.ts';
import { ReplyDecorator } from '../shared/edns.ts';
import { type Listener, type ListenOptions, once } from '../shared/listener.ts';
import type { QueryMeter } from '../shared/rate-limit.ts';
import {
  afterClientHello,
  closeFailedHandshakes,
  type HandshakeLimits,
  handshakeLimits,
  type TlsListener,
  type TlsListenOptions,
  tlsOptions,
  tlsReloader,
} from '../shared/tls.ts';
import { StreamTurns } from '../shared/turns.ts';
import { WRITE_BUFFER_OCTETS } from './framing.ts';
import { StreamConnection } from './stream-connection.ts';

/** DNS over TCP (RFC 7766, RFC 9210): persistent, pipelined, bounded. */
export function listenTcp(options: StreamOptions): Promise<Listener> {
  const server = createServer({ allowHalfOpen: true, highWaterMark: WRITE_BUFFER_OCTETS });
  return serveStreams(server, 'tcp', options, null);
}

/** DNS over TLS (RFC 7858, RFC 8310). ALPN and SNI are optional; a peer that sends ALPN must offer `dot`. */
export async function listenDot(options: StreamOptions & TlsListenOptions): Promise<TlsListener> {
  const server = createTlsServer({
    ...tlsOptions(options),
    ALPNProtocols: ['dot'],
    allowHalfOpen: true,
    highWaterMark: WRITE_BUFFER_OCTETS,
  });
  const tls = { ...handshakeLimits(options), start: afterClientHello(server) };
  closeFailedHandshakes(server);
  const listener = await serveStreams(server, 'dot', options, tls);
  return { ...listener, reloadTls: tlsReloader(server, options) };
}

export interface StreamLimits extends ConnectionLimits {
  /** Milliseconds of silence, or for one message to become complete, before a connection closes. */
  readonly idleMs: number;
  /** Milliseconds for a full write buffer to empty. */
  readonly drainMs: number;
  /** Queries in flight on one connection. */
  readonly pipeline: number;
}

const STREAM_LIMITS: StreamLimits = {
  ...CONNECTION_LIMITS,
  idleMs: LIMITS.tcpIdleMs,
  drainMs: 10_000,
  pipeline: LIMITS.tcpPipeline,
};

export interface StreamOptions extends ListenOptions {
  /** Overrides of the defaults. */
  readonly limits?: Partial<StreamLimits>;
  /** Counts the queries of one peer. */
  readonly meter?: ((address: string) => QueryMeter) | null;
  readonly timers?: Timers | undefined;
  /** Connections of the process; without it this listener counts its own. */
  readonly connections?: ConnectionTable | null;
}

/** Divides the idle time of a crowded listener. */
const CROWDED_DIVISOR = 4;
/** Deadlines are checked this many times within the shortest of them. */
const SWEEPS = 4;
const BACKLOG = 4096;

interface TlsStart extends HandshakeLimits {
  readonly start: (socket: Socket) => void;
}

/** DNS over a `net.Server` made with `allowHalfOpen` and `WRITE_BUFFER_OCTETS`. @param tls null for TCP */
async function serveStreams(
  server: Server,
  transport: 'tcp' | 'dot',
  options: StreamOptions,
  tls: TlsStart | null,
): Promise<Listener> {
  const limits = { ...STREAM_LIMITS, ...options.limits };
  const connectionLimit = new ConnectionLimit(limits, transport, options.connections ?? null);
  const open = new Map<Socket, StreamConnection>();
  const idleMs = (): number => (connectionLimit.crowded ? limits.idleMs / CROWDED_DIVISOR : limits.idleMs);
  // The keepalive option announces the timeout that is enforced.
  const decorator = new ReplyDecorator(transport, { cookies: options.cookies ?? null, idleMs });
  const context = { ...options, transport, decorator, pipeline: limits.pipeline, turns: new StreamTurns() };

  let closing = false;
  const { clock, observe } = options;
  const guarded = admitConnections(server, {
    transport,
    connectionLimit,
    observe,
    clock,
    handshake: tls,
    proxies: options.proxies ?? null,
    headerMs: tls?.ms ?? limits.idleMs,
    begin: tls?.start ?? serve,
  });
  if (tls !== null)
    server.on('secureConnection', (socket: Socket) => serve(socket, guarded.addressOf(socket)));
  function serve(socket: Socket, address: string): void {
    if (socket.destroyed) return;
    const connection = new StreamConnection(socket, address, context);
    if (closing) connection.drain();
    open.set(socket, connection);
    guarded.serve(socket, {
      since: () => connection.idleSince,
      giveWay: () => {
        open.delete(socket);
        socket.destroy();
      },
    });
    socket.once('close', () => open.delete(socket));
  }

  const sweeping = every({
    ms: Math.max(10, Math.min(limits.idleMs, limits.drainMs) / SWEEPS),
    task: () => sweep(open.values(), options.clock(), idleMs(), limits.drainMs),
    onError() {},
    timers: backgroundTimers,
  });

  const address = await listening(server, options).catch((fault: unknown) => {
    void sweeping.stop();
    guarded.stop();
    throw fault;
  });
  server.on('error', options.onFault);
  return {
    transport,
    address,
    close: once(async (graceMs) => {
      closing = true;
      for (const connection of open.values()) connection.drain();
      await guarded.closeWithin(graceMs);
      await sweeping.stop();
    }),
  };
}

function sweep(open: Iterable<StreamConnection>, now: number, idleMs: number, drainMs: number): void {
  for (const connection of open) if (connection.isOverdue(now, idleMs, drainMs)) connection.expire();
}

/** Rejects as `listen` fails (address in use, no permission). */
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
