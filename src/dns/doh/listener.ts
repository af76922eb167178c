import { createServer, type TLSSocket } from 'node:tls';
import { createHeldOctets } from '../../base/lifecycle/held-octets.ts';
import { LIMITS } from '../../base/limits.ts';
import {
  admitConnections,
  CONNECTION_LIMITS,
  ConnectionLimit,
  type ConnectionLimits,
} from '../shared/admission.ts';
import type { ConnectionTable } from '../shared/connection-table.ts';
import { ReplyDecorator } from '../shared/edns.ts';
import type { PacketHandler } from '../shared/handler.ts';
import { type ListenOptions, once } from '../shared/listener.ts';
import {
  afterClientHello,
  closeFailedHandshakes,
  handshakeLimits,
  type TlsListener,
  type TlsListenOptions,
  tlsOptions,
  tlsReloader,
} from '../shared/tls.ts';
import { StreamTurns } from '../shared/turns.ts';
import { listening } from '../stream/stream-server.ts';
import { answerRequest, COMMON_HEADERS, type DohApi, type DohService, serveExchange } from './answer.ts';
import { Http1Server } from './http1.ts';
import { Http2Server } from './http2/connection.ts';
import { commonHeaders } from './http2/hpack-encoder.ts';
import type { AskingRequest, Exchange, HttpReply } from './request.ts';

export interface DohLimits extends ConnectionLimits {
  /** Milliseconds without a request after which a connection is closed. */
  readonly idleMs: number;
  /** Milliseconds for a request to arrive whole. */
  readonly requestMs: number;
  /** Concurrent streams of one HTTP/2 connection. */
  readonly streams: number;
}

export const DOH_LIMITS: DohLimits = {
  ...CONNECTION_LIMITS,
  idleMs: 30_000,
  requestMs: 10_000,
  streams: LIMITS.dohStreams,
};

export interface DohOptions extends ListenOptions, TlsListenOptions, Pick<DohApi, 'json' | 'schema'> {
  /** Overrides of the defaults. */
  readonly limits?: Partial<DohLimits>;
  /** Rate limit: 0 lets a request pass, n answers 429 with `Retry-After: n` (seconds). */
  readonly admit?: ((address: string) => number) | null;
  /** Connections of the process; without it this listener counts its own. */
  readonly connections?: ConnectionTable | null;
}

/** DNS over HTTPS (RFC 8484) and its JSON form, over HTTP/2 and HTTP/1.1. */
export async function listenDoh(options: DohOptions): Promise<TlsListener> {
  const limits = { ...DOH_LIMITS, ...options.limits };
  const decorator = new ReplyDecorator('doh', { cookies: options.cookies ?? null });
  const { handler, misses } = counting(options.handler);
  const api: DohApi = { ...options, handler, decorator };
  const turns = new StreamTurns();
  const { clock, observe, onFault, admit = null } = options;
  const service: DohService = {
    admit,
    answer: (request, address) => answerRequest(request, api, address),
    onFault,
  };
  // Node parses all requests of a read at once: each waits for a turn by itself.
  const inTurn = (request: AskingRequest, address: () => string): Promise<HttpReply> =>
    new Promise((resolve, reject) => {
      turns.add(() => {
        const before = misses();
        try {
          resolve(answerRequest(request, api, address));
        } catch (fault) {
          reject(fault);
        }
        return misses() - before;
      });
    });

  const http1 = new Http1Server({
    ...limits,
    clock,
    onExchange: (exchange) => serveExchange(exchange, { ...service, answer: inTurn }),
  });
  const http2 = new Http2Server({
    limits: { ...limits, body: LIMITS.dohBody },
    clock,
    onRequest: (exchange: Exchange) => serveExchange(exchange, service),
    onFault,
    turns,
    misses,
    held: createHeldOctets(LIMITS.dohUnsentOctets),
    common: commonHeaders(COMMON_HEADERS),
  });
  const server = createServer({ ...tlsOptions(options), ALPNProtocols: ['h2', 'http/1.1'] });
  const begin = afterClientHello(server);
  closeFailedHandshakes(server);
  const handshake = handshakeLimits(options);
  const guarded = admitConnections(server, {
    transport: 'doh',
    connectionLimit: new ConnectionLimit(limits, 'doh', options.connections ?? null),
    observe,
    clock,
    handshake,
    proxies: options.proxies ?? null,
    headerMs: handshake.ms,
    begin,
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.destroyed) return;
    const http = socket.alpnProtocol === 'h2' ? http2 : http1;
    guarded.serve(socket, http.serve(socket, guarded.addressOf(socket)));
  });

  const address = await listening(server, options).catch((fault: unknown) => {
    http2.stop();
    guarded.stop();
    throw fault;
  });
  server.on('error', options.onFault);
  http1.start();
  return {
    transport: 'doh',
    address,
    reloadTls: tlsReloader(server, options),
    close: once(async (graceMs) => {
      http2.drain();
      http1.drain();
      await guarded.closeWithin(graceMs);
      http2.stop();
    }),
  };
}

/** The handler, and how many queries it has answered past the packet cache. */
function counting(handler: PacketHandler): {
  readonly handler: PacketHandler;
  readonly misses: () => number;
} {
  let misses = 0;
  return {
    misses: () => misses,
    handler: {
      hot: (request, length, transport, out) => handler.hot(request, length, transport, out),
      slow(request, transport, proven, share) {
        misses++;
        return handler.slow(request, transport, proven, share);
      },
      nameShare: (request, length) => handler.nameShare(request, length),
      isSpent: (request, length) => handler.isSpent(request, length),
    },
  };
}
