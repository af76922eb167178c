import { createServer as createHttp1Server, type Server as Http1Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { createServer, type TLSSocket } from 'node:tls';
import { LIMITS } from '../../core/limits.ts';
import { ReplyDecorator } from './decorator.ts';
import {
  answerPlan,
  COMMON_HEADERS,
  type DohApi,
  type DohResponse,
  errorResponse,
  internalError,
  throttled,
} from './doh-answer.ts';
import { type Exchange, http1ErrorText, http1Exchange } from './doh-exchange.ts';
import { BODY_FAULTS, planRequest } from './doh-route.ts';
import { ConnectionGate, closeWithin, type GateLimits, guard } from './gate.ts';
import { commonHeaders } from './http2/hpack-encoder.ts';
import { Http2Server } from './http2/server.ts';
import { type ListenOptions, once } from './listener.ts';
import { listening } from './stream-server.ts';
import {
  closeFailedHandshakes,
  type TlsListener,
  type TlsListenOptions,
  tlsOptions,
  tlsReloader,
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

/** Room for the longest DNS message in a target, so that one who sends it is told 414, which says more than 431. */
const HEADER_OCTETS = 96 * 1024;

/** DNS over HTTPS (RFC 8484) and its JSON form, over HTTP/2 and HTTP/1.1. */
export async function listenDoh(options: DohOptions): Promise<DohListener> {
  const limits = { ...DOH_LIMITS, ...options.limits };
  const decorator = new ReplyDecorator('doh', { cookies: options.cookies ?? null });
  const context: DohContext = { ...options, decorator };
  const common = commonHeaders(COMMON_HEADERS);
  let closing = false;

  const http1 = http1Server(
    limits,
    (exchange) => serve(exchange, context),
    () => closing,
  );
  const http2 = new Http2Server({
    limits: { ...limits, body: LIMITS.dohBody },
    clock: options.clock,
    common,
    onRequest: (stream) => serve(stream, context),
    onFault: options.onFault,
  });
  const server = createServer({ ...tlsOptions(options), ALPNProtocols: ['h2', 'http/1.1'] });
  closeFailedHandshakes(server);
  const sockets = guard(server, 'doh', new ConnectionGate(limits), options.observe, () => false);
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.destroyed) return;
    if (socket.alpnProtocol === 'h2') http2.serve(socket);
    else http1.emit('connection', socket);
  });

  const address = await listening(server, options).catch((fault: unknown) => {
    http2.stop();
    throw fault;
  });
  server.on('error', options.onFault);
  // It has no port of its own, but looks after its deadlines only once it "listens".
  http1.emit('listening');
  return {
    transport: 'doh',
    address,
    reloadTls: tlsReloader(server, options),
    close: once(async (graceMs) => {
      closing = true;
      // Requests in flight end first; idle connections of HTTP/1.1 go at once.
      http2.drain();
      http1.close();
      await closeWithin(server, sockets, graceMs);
      http2.stop();
    }),
  };
}

/** Never listens: it is handed its sockets. */
function http1Server(
  { requestMs, idleMs }: DohLimits,
  onExchange: (exchange: Exchange) => void,
  closing: () => boolean,
): Http1Server {
  const server = createHttp1Server({
    maxHeaderSize: HEADER_OCTETS,
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: Math.max(50, requestMs / 4),
  });
  // It also ends a response nobody reads.
  server.setTimeout(idleMs);
  const body = { octets: LIMITS.dohBody, ms: requestMs };
  server.on('request', (request, response) =>
    onExchange(http1Exchange(request, response, { body, closing })),
  );
  server.on('clientError', (fault: NodeJS.ErrnoException, socket: Duplex) => {
    if (socket.writable) socket.end(http1ErrorText(fault));
    else socket.destroy();
  });
  return server;
}

/** One request, from either version of the protocol. Never throws. */
function serve(exchange: Exchange, context: DohContext): void {
  attempt(exchange, context, () => {
    const wait = context.admit?.(exchange.address()) ?? 0;
    if (wait > 0) return throttled(wait);
    const plan = planRequest(exchange.head);
    if (plan.kind !== 'body') return answerPlan(plan, context, exchange.address);
    exchange.readBody((body) => {
      if (body !== 'gone') attempt(exchange, context, () => answerBody(body, exchange, context));
    });
    return null;
  });
}

function answerBody(
  body: Uint8Array | keyof typeof BODY_FAULTS,
  exchange: Exchange,
  context: DohContext,
): DohResponse | Promise<DohResponse> {
  if (typeof body === 'string') return errorResponse(BODY_FAULTS[body]);
  return answerPlan({ kind: 'wire', message: body }, context, exchange.address);
}

/** Answers with what `make` makes, at once when it can; with an error if it fails. Null: not yet. */
function attempt(
  exchange: Exchange,
  { onFault }: DohContext,
  make: () => DohResponse | Promise<DohResponse> | null,
): void {
  const failed = (fault: unknown): void => {
    onFault(fault);
    exchange.respond(internalError());
  };
  try {
    const response = make();
    if (response instanceof Promise) response.then((late) => exchange.respond(late)).catch(failed);
    else if (response !== null) exchange.respond(response);
  } catch (fault) {
    failed(fault);
  }
}
