import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNotModified } from '../requests/preconditions.ts';

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
