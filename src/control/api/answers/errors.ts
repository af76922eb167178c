import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { AppError, malformed } from '../../../core/errors.ts';

/** What Fastify refuses by itself, by its code. Everything else it refuses is a bad request. */
const FRAMEWORK_ERRORS: Readonly<Record<string, AppError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: malformed(413, 'Body is too large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: malformed(415, 'Content-Type must be application/json'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: malformed(400, 'Body does not have the announced length'),
  FST_ERR_BAD_URL: malformed(400, 'URL is malformed'),
};

/** What Node's HTTP parser refuses: status, reason phrase and message. */
const PARSER_ERRORS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'Headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large', 'Body is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'Request took too long'],
};
const BAD_REQUEST = [400, 'Bad Request', 'Request is malformed'] as const;

const SERVER_ERROR = new AppError('server_error', 'Server error');

/** The body of every failure: `{"error", "code"}`, or `{"errors", "code"}` after validation. */
export function errorBody(error: AppError): Record<string, unknown> {
  const { code, messages, plural } = error;
  return plural ? { errors: messages, code } : { error: messages[0], code };
}

/** Turns whatever was thrown into what the caller is told; null for failures that are ours. */
export function toAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return null;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? FRAMEWORK_ERRORS[code] : undefined;
  if (known !== undefined) return known;
  const isRefusal = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return isRefusal ? malformed(400, 'Request is malformed') : null;
}

/** Receives the failures that are the server's fault, with the id that the answer carries, where there is an answer. */
export type OnFailure = (error: unknown, requestId?: string) => void;

/** Sends a failure. @param onError called with those that are the server's fault */
export function sendError(reply: FastifyReply, error: unknown, onError: OnFailure): FastifyReply {
  const known = toAppError(error);
  if (known === null) onError(error, reply.request.id);
  const told = known ?? SERVER_ERROR;
  if (told.code === 'authentication_error') reply.header('www-authenticate', 'Bearer');
  if (told.retryAfter !== undefined) reply.header('retry-after', String(told.retryAfter));
  // A body in a coding: RFC 9110 §15.5.16 asks for the codings that are taken.
  if (told.status === 415) reply.header('accept-encoding', 'identity');
  return reply
    .code(told.status)
    .header('x-request-id', reply.request.id)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .type('application/json; charset=utf-8')
    .send(errorBody(told));
}

/** Answers what never became a request, then closes: the parser has lost its place in the stream. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, message] = PARSER_ERRORS[error.code ?? ''] ?? BAD_REQUEST;
  const body = JSON.stringify({ error: message, code: 'validation_error' });
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n` +
      `X-Request-Id: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
