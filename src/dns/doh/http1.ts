import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { HttpWork, ignoreExpectations } from '../../base/lifecycle/http.ts';
import type { Holder } from '../../base/lifecycle/places.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { COMMON_HEADERS, errorResponse } from './answer.ts';
import type { BodyFault, BodyTaker, Exchange, HttpReply } from './request.ts';

// No import: see `lifecycle/README.md`.
const { createServer } = process.getBuiltinModule('node:http');

interface Http1Options {
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
  readonly #open = new Map<Socket, { readonly work: HttpWork; readonly address: string }>();
  #closing = false;

  constructor({ idleMs, requestMs, clock, onExchange }: Http1Options) {
    this.#clock = clock;
    this.#server = createServer({
      maxHeaderSize: HEADER_OCTETS,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.max(50, requestMs / 4),
      // Node's own refusal has no body.
      requireHostHeader: false,
    });
    // This timeout also ends a response that the peer does not read.
    this.#server.setTimeout(idleMs);
    const body = { octets: LIMITS.dohBody, ms: requestMs };
    ignoreExpectations(this.#server);
    this.#server.on('request', (request, response) => {
      const open = this.#open.get(request.socket);
      if (open === undefined) return;
      const { work, address } = open;
      const closing = (): boolean => this.#closing;
      work.begin(request, response, () => {
        const exchange = http1Exchange(request, response, { body, discarded: 0, address, closing });
        if (hasOneHost(request)) onExchange(exchange);
        else
          exchange.respond(errorResponse({ kind: 'error', status: 400, error: 'Host must be given once' }));
      });
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

  /** Serves a socket. @param address of the client @returns what its place is used for */
  serve(socket: Socket, address: string): Holder {
    const work = new HttpWork(this.#clock, LIMITS.httpPipeline);
    this.#open.set(socket, { work, address });
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

/** One, or none in HTTP/1.0 (RFC 9112 §3.2): a proxy may have read the other of two. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

// Requests and replies of HTTP/1.1 as exchanges.

/** Reads a body of HTTP/1.1, up to a limit and a deadline. `taker` is called once; after a fault the rest stays unread. */
function readBody(
  stream: Readable,
  { octets: limit, ms }: { readonly octets: number; readonly ms: number },
  take: BodyTaker,
): void {
  const chunks: Buffer[] = [];
  let octets = 0;
  let settled = false;
  const settle = (result: Uint8Array | BodyFault): void => {
    if (settled) return;
    settled = true;
    cancel();
    stream.off('data', onData);
    take(result);
  };
  const onData = (chunk: Buffer): void => {
    octets += chunk.length;
    chunks.push(chunk);
    if (octets <= limit) return;
    stream.pause();
    settle('too-large');
  };
  const cancel = realTimers.after(ms, () => settle('too-slow'));
  stream.on('data', onData);
  stream.once('end', () => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, octets)));
  stream.once('close', () => settle('gone'));
}

// No import: see `lifecycle/README.md`.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

const NO_CONTENT = 204;
const TOO_LARGE = 413;
/** After these statuses the rest of the body stays unread, so an HTTP/1.1 connection must close. */
const BODY_ABANDONED: ReadonlySet<number> = new Set([408, TOO_LARGE]);

interface Http1Context {
  /** Octets of a body, and milliseconds for it to arrive. */
  readonly body: { readonly octets: number; readonly ms: number };
  /** Announced octets up to which a refused body is read and discarded: a proxy loses a 413 when the connection is reset. 0: none. */
  readonly discarded: number;
  /** Of the client. */
  readonly address: string;
  /** The listener is closing: this response is the last of its connection. */
  readonly closing: () => boolean;
}

function headersOf({ status, headers, body }: HttpReply): Record<string, string> {
  const all: Record<string, string> = { ...COMMON_HEADERS, ...headers };
  // A 204 has neither body nor length (RFC 9110 §8.6).
  if (status !== NO_CONTENT) all['content-length'] = String(body.length);
  return all;
}

export function http1Exchange(
  request: IncomingMessage,
  response: ServerResponse,
  { body, discarded, address, closing }: Http1Context,
): Exchange {
  const { method = '', url = '', headers } = request;
  // The 'close' event reports a broken connection. Without these listeners an error would end the process.
  request.on('error', () => request.destroy());
  response.on('error', () => response.destroy());
  return {
    head: {
      method,
      target: url,
      contentType: headers['content-type'],
      contentLength: headers['content-length'],
      // A larger header section never becomes a request: `http1ErrorText` answers it.
      tooLarge: false,
    },
    readBody: (taker) => readBody(request, body, taker),
    address: () => address,
    respond(reply) {
      if (response.destroyed || response.headersSent) return;
      // Node discards a body that nobody began to read.
      const isDiscarded = reply.status === TOO_LARGE && Number(headers['content-length']) <= discarded;
      const abandoned = BODY_ABANDONED.has(reply.status) && !isDiscarded;
      if (abandoned || closing()) response.setHeader('connection', 'close');
      response.writeHead(reply.status, headersOf(reply));
      response.end(method === 'HEAD' ? undefined : reply.body);
      if (abandoned) response.once('finish', () => request.socket.destroySoon());
    },
  };
}

const PARSE_STATUS: ReadonlyMap<string | undefined, readonly [status: number, error: string]> = new Map([
  ['HPE_HEADER_OVERFLOW', [431, 'Request header fields too large']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'Request timeout']],
]);

/** The whole HTTP/1.1 response to octets that Node's parser refuses. */
function http1ErrorText(fault: NodeJS.ErrnoException): string {
  const [status, error] = PARSE_STATUS.get(fault.code) ?? [400, 'Bad request'];
  const response = errorResponse({ kind: 'error', status, error });
  const headers = Object.entries({ ...headersOf(response), connection: 'close' });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${Buffer.from(response.body).toString()}`;
}
