import type { FastifyRequest } from 'fastify';
import { malformed } from '../../base/errors.ts';

export type TagCondition = (tag: string) => boolean;

/** RFC 9110 §8.8.3, weak or strong. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** Empty list elements are allowed (RFC 9110 §5.6.1.2). */
const TAG_LIST = new RegExp(`^[ \\t,]*${TAG}(?:[ \\t]*,[ \\t,]*${TAG})*[ \\t,]*$`);
const EACH_TAG = new RegExp(TAG, 'g');

/** `If-Match` (RFC 9110 §13.1.1): a weak tag never matches. Undefined without it. @throws AppError 400 when invalid */
export function ifMatch(request: FastifyRequest): TagCondition | undefined {
  const tags = tagsOf(request, 'if-match');
  if (tags === undefined) return undefined;
  return tags === '*' ? () => true : (tag) => tags.includes(tag);
}

/** `If-None-Match` (RFC 9110 §13.1.2): weak comparison. @throws AppError 400 for an invalid header */
export function isNotModified(request: FastifyRequest, tag: string): boolean {
  const tags = tagsOf(request, 'if-none-match');
  if (tags === undefined) return false;
  return tags === '*' || tags.some((one) => one.replace(/^W\//, '') === tag);
}

/** Whether a POST has `If-None-Match: *`. @throws AppError 400 for any other value */
export function onlyIfNew(request: FastifyRequest): boolean {
  const header = request.headers['if-none-match'];
  if (header === undefined) return false;
  if (header.trim() !== '*') throw malformed(400, 'If-None-Match must be * on a POST');
  return true;
}

function tagsOf(
  request: FastifyRequest,
  name: 'if-match' | 'if-none-match',
): '*' | readonly string[] | undefined {
  const header = request.headers[name];
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  if (TAG_LIST.test(header)) return header.match(EACH_TAG) ?? [];
  const shown = name === 'if-match' ? 'If-Match' : 'If-None-Match';
  throw malformed(400, `${shown} must be * or a list of entity tags in quotation marks`);
}
