import type { IncomingMessage, ServerResponse } from 'node:http';

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
