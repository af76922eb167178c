import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { IdleConnection } from '../connections/admission.ts';
import type { Exchange } from './exchange.ts';
import { http1ErrorText, http1Exchange } from './http1-exchange.ts';

export interface Http1Options {
  /** Milliseconds without a request after which a connection is closed. */
  readonly idleMs: number;
  /** Milliseconds for a request to arrive whole. */
  readonly requestMs: number;
  readonly clock: Clock;
  readonly onExchange: (exchange: Exchange) => void;
}

/** Room for the longest DNS message in a target, so that one who sends it is told 414, which says more than 431. */
const HEADER_OCTETS = 96 * 1024;

interface Activity {
  /** Requests whose response has not left. */
  requests: number;
  /** When the connection came, or the last response left. */
  since: number;
}

/** The HTTP/1.1 connections of a listener. It has no port of its own: it is handed its sockets. */
export class Http1Server {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #open = new Map<Socket, Activity>();
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
    // It also ends a response nobody reads.
    this.#server.setTimeout(idleMs);
    const body = { octets: LIMITS.dohBody, ms: requestMs };
    this.#server.on('request', (request, response) => {
      const activity = this.#open.get(request.socket);
      if (activity !== undefined) {
        activity.requests++;
        response.once('close', () => {
          activity.requests--;
          activity.since = this.#clock();
        });
      }
      onExchange(http1Exchange(request, response, { body, closing: () => this.#closing }));
    });
    this.#server.on('clientError', (fault: NodeJS.ErrnoException, socket: Duplex) => {
      if (socket.writable) socket.end(http1ErrorText(fault));
      else socket.destroy();
    });
  }

  /** Looks after its deadlines from now on, as it would once it listens. */
  start(): void {
    this.#server.emit('listening');
  }

  /** Speaks HTTP/1.1 over a socket from now on. */
  serve(socket: Socket): void {
    this.#open.set(socket, { requests: 0, since: this.#clock() });
    socket.once('close', () => this.#open.delete(socket));
    this.#server.emit('connection', socket);
  }

  oldestIdle(): IdleConnection | null {
    let oldest: Socket | null = null;
    let since = Number.POSITIVE_INFINITY;
    for (const [socket, activity] of this.#open) {
      if (activity.requests > 0 || activity.since >= since) continue;
      oldest = socket;
      since = activity.since;
    }
    if (oldest === null) return null;
    const socket = oldest;
    return {
      since,
      close: () => {
        // At once: the 'close' event comes in a later turn.
        this.#open.delete(socket);
        socket.destroy();
      },
    };
  }

  /** Requests in flight end first; idle connections go at once. */
  drain(): void {
    this.#closing = true;
    this.#server.close();
  }
}
