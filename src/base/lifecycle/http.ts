import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyServerOptions } from 'fastify';
import { every } from './loop.ts';
import { backgroundTimers, type Timers } from './timers.ts';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What the requests of one HTTP/1.1 connection have come to: whether the server is at work for it, or waits for it. */
export class HttpWork {
  readonly #clock: () => number;
  /** One, or few: a pipeline, each until its answer is sent. Not a Set: V8 keeps what was in the tables that a Set has replaced until a whole collection. */
  readonly #open: Exchange[] = [];
  readonly #pipeline: number;
  #finishedAt: number;

  /**
   * @param clock milliseconds
   * @param pipeline requests that are answered at a time
   */
  constructor(clock: () => number, pipeline: number) {
    this.#pipeline = pipeline;
    this.#clock = clock;
    this.#finishedAt = clock();
  }

  /**
   * A request has begun: its head is complete. Node calls for all that one read brought, a thousand, at once, and twenty connections of one
   * client would hold up everybody for seconds: the one above the bound ends the connection.
   * @returns false when it must not be answered: it ended the connection, or was read behind that one
   */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.socket.destroyed) return false;
    if (this.#open.length >= this.#pipeline) {
      request.socket.destroy();
      return false;
    }
    const exchange = { request, response };
    this.#open.push(exchange);
    response.once('close', () => {
      this.#open.splice(this.#open.indexOf(exchange), 1);
      if (request.complete) this.#finishedAt = this.#clock();
    });
    return true;
  }

  /**
   * When the last whole request was answered, or the connection began. Null: a whole request is being answered. A request whose body does
   * not end is no work, and neither is an answer that the client does not read.
   */
  since(): number | null {
    for (const { request, response } of this.#open)
      if (request.complete && !response.writableEnded) return null;
    return this.#finishedAt;
  }
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
