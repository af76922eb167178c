import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { IdleConnection } from '../connections/admission.ts';
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

interface Activity {
  /** Requests whose response has not left. */
  requests: number;
  /** Time of the connection's start or last response. */
  since: number;
}

/** The HTTP/1.1 connections of a listener. It has no port: the TLS server hands over sockets. */
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
    // This timeout also ends a response that the peer does not read.
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

  /** Serves a socket. */
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
        // Remove now: the 'close' event comes in a later tick.
        this.#open.delete(socket);
        socket.destroy();
      },
    };
  }

  /** Requests in flight end first; idle connections close at once. */
  drain(): void {
    this.#closing = true;
    this.#server.close();
  }
}
