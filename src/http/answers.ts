import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomUuid, realRandom } from '../base/chance.ts';
import { AppError, malformed } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { isNotModified } from './request.ts';

interface LinkDeps {
  /** Origin of absolute URLs, without a trailing slash. */
  readonly publicUrl: () => string;
}

/** Sends 201 and the URL of the new resource: the collection's URL and the id. A secret has no GET there, but DELETE. */
export function created(
  deps: LinkDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  resource: { readonly id: string },
): FastifyReply {
  return reply
    .code(201)
    .header('location', `${here(deps, request)}/${resource.id}`)
    .send(resource);
}

/** Adds the `Link` header to the next page (RFC 8288). @param next its cursor; null on the last page */
export function linkNext(
  deps: LinkDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  limit: number,
  next: string | null,
): void {
  if (next === null) return;
  const query = {
    ...(request.query as Readonly<Record<string, string>>),
    limit: String(limit),
    cursor: next,
  };
  reply.header('link', `<${here(deps, request)}?${new URLSearchParams(query).toString()}>; rel="next"`);
}

/** The request's URL as clients see it, without the query string. */
function here({ publicUrl }: LinkDeps, request: FastifyRequest): string {
  return publicUrl() + request.url.split('?', 1)[0]!;
}

/** A HEAD without `Content-Length`, which would have to be that of the GET (RFC 9110 §8.6): its length is not known before it is sent. */
export function sendHead(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

/** A public answer that caches may keep. */
export interface Document {
  readonly json: string;
  /** Entity tag, a hash of the content. */
  readonly tag: string;
}

export function documentOf(content: object): Document {
  const json = plainJson(content);
  return { json, tag: `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"` };
}

/** JSON whose text has no line separators of Unicode: YAML readers, to which OpenAPI is YAML, take them for line breaks. */
export function plainJson(content: object, indent = 0): string {
  return JSON.stringify(content, null, indent).replace(/[\u2028\u2029]/g, (letter) =>
    letter === '\u2028' ? '\\u2028' : '\\u2029',
  );
}

/** Sends the document, or 304. @param maxAge seconds that a client may use the answer without asking again */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { json, tag }: Document,
  maxAge: number,
): FastifyReply {
  reply.header('etag', tag).header('cache-control', `public, max-age=${maxAge}`);
  if (isNotModified(request, tag)) return reply.code(304).send();
  return reply.type('application/json; charset=utf-8').send(json);
}

/** Refusals of Fastify by code. Any other refusal is a bad request. */
const FRAMEWORK_ERRORS: Readonly<Record<string, AppError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: malformed(415, 'Content-Type must be application/json'),
  FST_ERR_BAD_URL: malformed(400, 'URL is malformed'),
};

/** Refusals of Node's HTTP parser: status, reason phrase, message. */
const PARSER_ERRORS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'Headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large', 'Body is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'Request took too long'],
};
const BAD_REQUEST = [400, 'Bad Request', 'Request is malformed'] as const;

/** Statuses of requests whose body may not have been read. */
const UNREAD: ReadonlySet<number> = new Set([413, 429]);

const SERVER_ERROR = new AppError('server_error', 'Server error');

function errorBody(error: AppError): Record<string, unknown> {
  const { code, messages, plural } = error;
  return plural ? { errors: messages, code } : { error: messages[0], code };
}

/** Null for a fault of the server, which the client does not see. */
function toAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return null;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? FRAMEWORK_ERRORS[code] : undefined;
  if (known !== undefined) return known;
  const isRefusal = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return isRefusal ? malformed(400, 'Request is malformed') : null;
}

/** Receives faults of the server, with the request id of the answer when there is one. */
export type OnFailure = (error: unknown, requestId?: string) => void;

/** @param onError called for a fault of the server */
export function sendError(reply: FastifyReply, error: unknown, onError: OnFailure): FastifyReply {
  const known = toAppError(error);
  if (known === null) onError(error, reply.request.id);
  const told = known ?? SERVER_ERROR;
  if (told.code === 'authentication_error') reply.header('www-authenticate', 'Bearer');
  if (told.retryAfter !== undefined) reply.header('retry-after', String(told.retryAfter));
  if (UNREAD.has(told.status) && isDiscarded(reply)) reply.removeHeader('connection');
  // RFC 9110 §15.5.16: name the content codings that are accepted.
  if (told.status === 415) reply.header('accept-encoding', 'identity');
  // Headers of the answer that failed. A body with a length takes no trailer.
  reply.removeHeader('trailer').removeHeader('content-disposition').removeHeader('x-service-seq');
  reply.removeHeader('etag');
  return reply
    .code(told.status)
    .header('x-request-id', reply.request.id)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .type('application/json; charset=utf-8')
    .send(errorBody(told));
}

/**
 * Whether Node reads the rest of a body that was refused. A connection that is closed while the client sends is reset, and a proxy
 * then says 502 instead of our answer.
 */
function isDiscarded({ request }: FastifyReply): boolean {
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  return length <= LIMITS.discardedBody;
}

/** Answers bytes that are not a request, then closes: the parser cannot continue in the stream. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, message] = PARSER_ERRORS[error.code ?? ''] ?? BAD_REQUEST;
  const body = JSON.stringify({ error: message, code: 'validation_error' });
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n` +
      `X-Request-Id: ${randomUuid(realRandom)}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
