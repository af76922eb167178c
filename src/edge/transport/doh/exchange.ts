/** One request and its response, the same from HTTP/1.1 and HTTP/2; and how those of HTTP/1.1 are made. */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { COMMON_HEADERS, type DohResponse, errorResponse } from './answer.ts';
import { readBody } from './body.ts';
import type { BodyTaker } from './http2/stream.ts';
import type { DohRequestHead } from './route.ts';

/** A stream of HTTP/2 is one as it is. */
export interface Exchange {
  readonly head: DohRequestHead;
  /** Hands over the body, at once or later; after 'gone' nothing is to be answered. Asked for once. */
  readBody(taker: BodyTaker): void;
  /** The peer's, for rate limits and cookies. */
  readonly address: () => string;
  /** Sends the response, unless the peer is gone or has one already. Never throws. */
  respond(response: DohResponse): void;
}

const NO_CONTENT = 204;
/** Statuses after which the rest of a body is not read, so that the connection (HTTP/1.1) is of no more use. */
const BODY_ABANDONED: ReadonlySet<number> = new Set([408, 413]);

export interface Http1Context {
  /** Octets of a body, and milliseconds for it to come. */
  readonly body: { readonly octets: number; readonly ms: number };
  /** The listener is closing: the connection ends with this response. */
  readonly closing: () => boolean;
}

function headersOf({ status, headers, body }: DohResponse): Record<string, string> {
  const all: Record<string, string> = { ...COMMON_HEADERS, ...headers };
  // A 204 has neither body nor length (RFC 9110 §8.6).
  if (status !== NO_CONTENT) all['content-length'] = String(body.length);
  return all;
}

export function http1Exchange(
  request: IncomingMessage,
  response: ServerResponse,
  { body, closing }: Http1Context,
): Exchange {
  const { method = '', url = '', headers } = request;
  // What breaks a connection is seen as its end; without a listener it would end the process.
  request.on('error', () => request.destroy());
  response.on('error', () => response.destroy());
  return {
    head: {
      method,
      target: url,
      contentType: headers['content-type'],
      contentLength: headers['content-length'],
    },
    readBody: (taker) => readBody(request, body, taker),
    address: () => request.socket.remoteAddress ?? '',
    respond(reply) {
      if (response.destroyed || response.headersSent) return;
      const abandoned = BODY_ABANDONED.has(reply.status);
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

/** An HTTP/1.1 response, whole, for octets that made no request. */
export function http1ErrorText(fault: NodeJS.ErrnoException): string {
  const [status, error] = PARSE_STATUS.get(fault.code) ?? [400, 'Bad request'];
  const response = errorResponse({ kind: 'error', status, error });
  const headers = Object.entries({ ...headersOf(response), connection: 'close' });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${Buffer.from(response.body).toString()}`;
}
