import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { HttpWork } from '../../base/lifecycle/http-work.ts';
import type { Holder } from '../../base/lifecycle/places.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Exchange } from './exchange.ts';
import { http1ErrorText, http1Exchange } from './http1-exchange.ts';

// No import: see `lifecycle/README.md`.
const { createServer } = process.getBuiltinModule('node:http');

export interface Http1Options {
  /** Milliseconds without a request after which a connection is closed. */
  readonly idleMs: number;
  /** Milliseconds for a request to arrive whole. */
  readonly requestMs: number;
  readonly clock: Clock;
  readonly onExchange: (exchange: Exchange) => void;
}

/** Octets of a header section: enough for the longest DNS message in a target, so that more gets a 414 and not a 431. */
const HEADER_OCTETS = 96 * 1024;

/** The HTTP/1.1 connections of a listener. It has no port: the TLS server hands over sockets. */
export class Http1Server {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #open = new Map<Socket, HttpWork>();
  #closing = false;

  constructor({ idleMs, requestMs, clock, onExchange }: Http1Options) {
    this.#clock = clock;
    this.#server = createServer({
      maxHeaderSize: HEADER_OCTETS,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.max(50, requestMs / 4),
    });
    // This timeout also ends a response that the peer does not read.
    this.#server.setTimeout(idleMs);
    const body = { octets: LIMITS.dohBody, ms: requestMs };
    this.#server.on('request', (request, response) => {
      if (this.#open.get(request.socket)?.begin(request, response) === false) return;
      onExchange(http1Exchange(request, response, { body, discarded: 0, closing: () => this.#closing }));
    });
    this.#server.on('clientError', (fault: NodeJS.ErrnoException, socket: Duplex) => {
      if (socket.writable) socket.end(http1ErrorText(fault));
      else socket.destroy();
    });
  }

  /** Starts the checks of deadlines, which `listen` would start. */
  start(): void {
    this.#server.emit('listening');
  }

  /** Serves a socket. @returns what its place is used for */
  serve(socket: Socket): Holder {
    const work = new HttpWork(this.#clock, LIMITS.httpPipeline);
    this.#open.set(socket, work);
    socket.once('close', () => this.#open.delete(socket));
    this.#server.emit('connection', socket);
    return { since: () => work.since(), giveWay: () => socket.destroy() };
  }

  /** Requests in flight end first; idle connections close at once. */
  drain(): void {
    this.#closing = true;
    this.#server.close();
  }
}
