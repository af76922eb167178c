import type { FastifyInstance, FastifyRequest } from 'fastify';
import { malformed } from '../../../core/errors.ts';
import { membersOf, membersWritten } from './json-members.ts';

type Done = (error: Error | null, body?: unknown) => void;

/** A body in a content coding must not be read as JSON. @throws AppError 415 */
export function refuseCoding(request: FastifyRequest): void {
  const coding = request.headers['content-encoding'];
  if (coding === undefined || coding.trim().toLowerCase() === 'identity') return;
  throw malformed(415, 'Content-Encoding must be identity');
}

/** Strict UTF-8 and JSON. Refuses a repeated name, because its values contradict each other, and `__proto__`. */
export function jsonParser(app: FastifyInstance) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const parse = app.getDefaultJsonParser('error', 'error');
  return (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    const text = decodeUtf8(utf8, bytes);
    if (text === null) done(malformed(400, 'Body is not valid JSON'));
    else if (text === '') done(null, undefined);
    else {
      void parse(request, text, (error, body) => {
        if (error !== null) done(malformed(400, isJson(text) ? FORBIDDEN_FIELD : 'Body is not valid JSON'));
        else if (membersWritten(text) !== membersOf(body)) done(malformed(400, 'Body has a field twice'));
        else done(null, body);
      });
    }
  };
}

const FORBIDDEN_FIELD = 'Body must not have a field __proto__, or constructor with prototype';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function decodeUtf8(utf8: TextDecoder, bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
