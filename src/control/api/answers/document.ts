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
  const json = JSON.stringify(content);
  return { json, tag: `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"` };
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
