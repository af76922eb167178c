import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyServerOptions } from 'fastify';
import { LIMITS } from '../limits.ts';
import { networksOf } from '../network/address.ts';
import { every } from './loop.ts';
import { createPlaces, type SharedPlace } from './places.ts';
import { backgroundTimers, type Timers } from './timers.ts';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly answer: () => void;
}

/**
 * The requests of one HTTP/1.1 connection: they are answered one after the other, and whether the server is at work for them, or waits for
 * the client.
 */
export class HttpWork {
  readonly #clock: () => number;
  /**
   * A pipeline. The first one is being answered, or its answer is being taken. Not a Set: V8 keeps what was in the tables that a Set has
   * replaced until a whole collection.
   */
  readonly #open: Exchange[] = [];
  readonly #pipeline: number;
  #finishedAt: number;

  /**
   * @param clock milliseconds
   * @param pipeline requests that wait for their answers at a time
   */
  constructor(clock: () => number, pipeline: number) {
    this.#pipeline = pipeline;
    this.#clock = clock;
    this.#finishedAt = clock();
  }

  /**
   * A request has begun: its head is complete. It is answered once the system has taken all of the answer before it, so a connection that
   * reads nothing holds one answer, however much it asks for. Requests that change something need that order anyway (RFC 9112 §9.3.2).
   * Node calls for all that one read brought, a thousand, at once: the one above the bound ends the connection.
   * Its target has the form of an origin server from here on.
   * @param answer begins to answer. It is not called when the connection ends before
   */
  begin(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    if (request.socket.destroyed) return;
    if (this.#open.length >= this.#pipeline) {
      request.socket.destroy();
      return;
    }
    request.url = originForm(request.url ?? '');
    this.#open.push({ request, response, answer });
    if (this.#open.length === 1) this.#next();
  }

  #next(): void {
    const [exchange] = this.#open;
    if (exchange === undefined) return;
    const { request, response, answer } = exchange;
    // It may have ended with the answer before.
    if (!request.socket.writable) return;
    answer();
    // After what `answer` listens for: it ends before the next one begins.
    response.once('close', () => {
      this.#open.shift();
      if (request.complete) this.#finishedAt = this.#clock();
      this.#next();
    });
  }

  /**
   * When the last whole request was answered, or the connection began. Null: a whole request is being answered. A request whose body does
   * not end is no work, and neither is an answer that the client does not read.
   */
  since(): number | null {
    const [first] = this.#open;
    if (first === undefined) return this.#finishedAt;
    const { request, response } = first;
    return request.complete && !response.writableEnded ? null : this.#finishedAt;
  }
}

/** A target with scheme and host, which a proxy may send, without them (RFC 9112 §3.2.2): every host of a listener is the same. */
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?]+/i, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

/** Any `Expect` but `100-continue` is ignored (RFC 9110 §10.1.1). Without this Node sends a bare 417, of which no listener hears. */
export function ignoreExpectations(server: Server): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

interface ConnectionPlaces {
  /** Connections at once. Above it the network with the most gives way, or the new one is closed. */
  readonly connections: number;
  /** Milliseconds. */
  readonly clock: () => number;
  /** Called before a request is answered, with the place of its connection. */
  readonly answering?: (place: SharedPlace, request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * Gives each connection of a server a place, and bounds its requests. When all places are taken, the network with the most connections gives way, first
 * the connection that was without a whole request for longest, also one whose answers are not read. No network has a limit of its own: a large
 * one may be an office or a proxy.
 * Call it after the server has its listeners: they hear of a request when it is to be answered.
 */
export function placeConnections(
  server: Server,
  { connections: all, clock, answering = () => {} }: ConnectionPlaces,
): void {
  const places = createPlaces({ all });
  const open = new Map<Socket, { readonly place: SharedPlace; readonly work: HttpWork }>();
  server.on('connection', (socket: Socket) => {
    const work = new HttpWork(clock, LIMITS.httpPipeline);
    const place = places.enter(networksOf(socket.remoteAddress), {
      since: () => work.since(),
      giveWay: () => socket.destroy(),
    });
    if (place === null) {
      socket.destroy();
      return;
    }
    open.set(socket, { place, work });
    socket.once('close', () => {
      open.delete(socket);
      place.leave();
    });
  });
  ignoreExpectations(server);
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = open.get(request.socket);
    connection?.work.begin(request, response, () => {
      answering(connection.place, request, response);
      for (const listener of listeners) listener.call(server, request, response);
    });
  });
}

interface ConnectionBounds extends Omit<ConnectionPlaces, 'answering'> {
  /** Milliseconds in which a connection brings nothing and takes nothing; then it is closed. */
  readonly idleMs: number;
}

/** `placeConnections` for a small server, and a bound of the time of an answer that nobody reads, which Node does not have. */
export function boundConnections(server: Server, { connections, clock, idleMs }: ConnectionBounds): void {
  // This timeout also ends an answer that the client does not read.
  server.setTimeout(idleMs);
  placeConnections(server, { connections, clock });
}

interface CloseHttpOptions {
  readonly server: Server;
  /** Stops accepting; resolves when every connection has ended. */
  readonly close: () => Promise<unknown>;
  /** Milliseconds that requests under way may take. */
  readonly graceMs: number;
  readonly timers?: Timers | undefined;
}

const IDLE_CHECK_MS = 50;

/**
 * Closes an HTTP server. Node itself closes only the connections that are idle when the close begins. One that becomes idle
 * later would stay open until its keep-alive ends.
 */
export async function closeHttp({
  server,
  close,
  graceMs,
  timers = backgroundTimers,
}: CloseHttpOptions): Promise<void> {
  const idle = every({ ms: IDLE_CHECK_MS, task: () => server.closeIdleConnections(), onError() {}, timers });
  const cancel = timers.after(graceMs, () => server.closeAllConnections());
  try {
    await close();
  } finally {
    cancel();
    await idle.stop();
  }
}

/**
 * Option of Fastify for a server whose routes have no `schema`. Without compilers of its own Fastify loads its default ones, Ajv and
 * fast-json-stringify: 120 modules and 3 MB for each process. A route with a schema makes `ready` throw.
 */
export const NO_ROUTE_SCHEMAS = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
} as const satisfies FastifyServerOptions['schemaController'];

function refuse(): never {
  throw new Error('a route has a schema, but this server has no schema compilers');
}

export interface HttpObservation {
  /** The route template, such as `/api/v1/records/:id`, never the URL. Undefined or `unmatched`: no route. */
  readonly route: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}
