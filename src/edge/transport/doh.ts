import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { LIMITS } from '../../core/limits.ts';
import { ReplyDecorator } from './decorator.ts';
import {
  answerPlan,
  type DohApi,
  type DohResponse,
  errorResponse,
  internalError,
  throttled,
} from './doh-answer.ts';
import { readBody } from './doh-body.ts';
import { type Exchange, http1ErrorText, http1Exchange, http2Exchange } from './doh-exchange.ts';
import { planRequest } from './doh-route.ts';
import { ConnectionGate, closeWithin, type GateLimits, guard } from './gate.ts';
import { type ListenOptions, once } from './listener.ts';
import { listening } from './stream-server.ts';
import {
  closeFailedHandshakes,
  reloadTls,
  type TlsListener,
  type TlsListenOptions,
  tlsOptions,
} from './tls.ts';

export interface DohLimits extends GateLimits {
  /** Milliseconds without a request after which a connection is closed. */
  readonly idleMs: number;
  /** Milliseconds for a request to arrive whole. */
  readonly requestMs: number;
  /** Concurrent streams of one HTTP/2 connection. */
  readonly streams: number;
}

export const DOH_LIMITS: DohLimits = {
  connections: LIMITS.tcpConnections,
  connectionsPerAddress: LIMITS.tcpConnectionsPerAddress,
  idleMs: 30_000,
  requestMs: 10_000,
  streams: LIMITS.dohStreams,
};

export interface DohOptions extends ListenOptions, TlsListenOptions, Pick<DohApi, 'json' | 'schema'> {
  /** Those not given are the product's. */
  readonly limits?: Partial<DohLimits>;
  /** Rate limiting: 0 lets a request pass, n answers it 429 with `Retry-After: n` (seconds). */
  readonly admit?: ((address: string) => number) | null;
}

/** The options, and what is made of them once. */
type DohContext = DohOptions & DohApi;

export type DohListener = TlsListener;

/** Room for the longest DNS message in a target, so that one who sends it is told 414, which says more than 431.
 * (HTTP/2 has a bound of its own, 64 KiB, beyond which it refuses the stream.) */
const HEADER_OCTETS = 96 * 1024;
const HEADER_PAIRS = 64;
/** Megabytes that one HTTP/2 session may hold. */
const SESSION_MEGABYTES = 4;
/** Streams a peer may open and reset in a burst, and a second after that, before the session ends (CVE-2023-44487). */
const RESET_BURST = 400;
const RESET_RATE = 40;

/** DNS over HTTPS (RFC 8484) and its JSON form, over HTTP/2 and HTTP/1.1. */
export async function listenDoh(options: DohOptions): Promise<DohListener> {
  const limits = { ...DOH_LIMITS, ...options.limits };
  const decorator = new ReplyDecorator('doh', { cookies: options.cookies ?? null });
  const context: DohContext = { ...options, decorator };
  const server = createSecureServer(serverOptions(options, limits));
  // For HTTP/1.1 it also ends a response nobody reads; for HTTP/2 it is the idle time of a session.
  server.setTimeout(limits.idleMs);
  closeFailedHandshakes(server);
  const gate = new ConnectionGate(limits);
  const sessions = new WeakMap<ServerHttp2Session, string>();
  let closing = false;

  const sockets = guard(server, 'doh', gate, options.observe, () => false);
  server.on('session', (session: ServerHttp2Session) => {
    sessions.set(session, session.socket.remoteAddress ?? '');
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void serve(
      http1Exchange(request, response, () => closing),
      context,
      limits,
    );
  });
  // Listening for 'request' also sets up Node's imitation of HTTP/1 on every HTTP/2 stream. Streams are answered
  // directly here, at a fraction of its cost, so it is taken out again.
  server.removeAllListeners('stream');
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const address = sessions.get(stream.session as ServerHttp2Session) ?? '';
    void serve(http2Exchange(stream, headers, address), context, limits);
  });
  server.on('clientError', (fault: NodeJS.ErrnoException, socket: Socket) => {
    if (socket.writable) socket.end(http1ErrorText(fault));
    else socket.destroy();
  });

  const address = await listening(server, options);
  server.on('error', options.onFault);
  return {
    transport: 'doh',
    address,
    reloadTls: (tls) => reloadTls(server, options, tls),
    close: once(async (graceMs) => {
      closing = true;
      // Node sends GOAWAY on every session and closes idle HTTP/1.1 connections; requests in flight end first.
      await closeWithin(server, sockets, graceMs);
    }),
  };
}

function serverOptions(options: DohOptions, limits: DohLimits): SecureServerOptions {
  const http1: ServerOptions = {
    maxHeaderSize: HEADER_OCTETS,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.max(50, limits.requestMs / 4),
  };
  return {
    ...tlsOptions(options),
    allowHTTP1: true,
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: HEADER_OCTETS, enablePush: false },
    maxHeaderListPairs: HEADER_PAIRS,
    maxSessionMemory: SESSION_MEGABYTES,
    streamResetBurst: RESET_BURST,
    streamResetRate: RESET_RATE,
    http1Options: http1,
  };
}

/** One request, from either version of the protocol. Never rejects. */
async function serve(exchange: Exchange, context: DohContext, limits: DohLimits): Promise<void> {
  try {
    const response = await answer(exchange, context, limits);
    if (response !== null) exchange.respond(response);
  } catch (fault) {
    context.onFault(fault);
    exchange.respond(internalError());
  }
}

async function answer(
  exchange: Exchange,
  context: DohContext,
  limits: DohLimits,
): Promise<DohResponse | null> {
  const wait = context.admit?.(exchange.address()) ?? 0;
  if (wait > 0) return throttled(wait);
  const plan = planRequest(exchange.head);
  if (plan.kind !== 'body') return answerPlan(plan, context, exchange.address);
  const body = await readBody(exchange.body, LIMITS.dohBody, limits.requestMs);
  if (body === null) return null;
  return 'kind' in body
    ? errorResponse(body)
    : answerPlan({ kind: 'wire', message: body }, context, exchange.address);
}
