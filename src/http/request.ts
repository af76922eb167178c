import type { FastifyRequest } from 'fastify';
import { AppError, invalid, malformed, notFound } from '../base/errors.ts';
import { Faults, Fields, isJsonObject, type JsonObject } from '../protocol/input/fields.ts';
import { type QueryParameters, readParameters } from '../protocol/input/query-parameters.ts';
import type { Operation } from './openapi/operation.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Who is counted for what a request brings: one key for all customers of a user; without a credential the network. */
export function personOf(request: FastifyRequest): string {
  return request.actor?.personId ?? `network ${request.siteKey() ?? request.addressKey()}`;
}

/** An id of the path in lower case. @throws AppError 404 when it is no UUID. @param what names the resource */
export function pathId(request: FastifyRequest, name: string, what: string): string {
  const id = (request.params as Readonly<Record<string, string>>)[name] ?? '';
  // A path that ends in a slash.
  if (id === '') throw new AppError('not_found', 'Route not found');
  if (!UUID.test(id)) throw notFound(what);
  return id.toLowerCase();
}

/** Refuses what the operation says that it does not take: parameters, or fields of a body. @throws AppError 400, 422 */
export function refuseUnknown(request: FastifyRequest, { query, request: body }: Operation): void {
  if (query !== undefined && Object.keys(query).length === 0)
    readParameters(request.query as QueryParameters, []);
  if (body === 'empty' && request.body !== undefined) refuseFields(jsonBody(request), []);
}

/** @throws AppError 400 when the body is not a JSON object */
export function jsonBody(request: FastifyRequest): JsonObject {
  if (!isJsonObject(request.body)) throw malformed(400, 'Body must be a JSON object');
  return request.body;
}

/** @throws AppError 400 without the envelope, 422 for any field beside it */
export function envelope(request: FastifyRequest, name: string): JsonObject {
  const body = jsonBody(request);
  const resource = Object.hasOwn(body, name) ? body[name] : undefined;
  if (!isJsonObject(resource)) throw malformed(400, `Body must have an object ${name}`);
  refuseFields(body, [name]);
  return resource;
}

/** @throws AppError 422 for each field that is not `known` */
function refuseFields(body: JsonObject, known: readonly string[]): void {
  const faults = new Faults();
  new Fields(body, known, faults);
  if (faults.any) throw invalid(...faults.messages);
}

type TagCondition = (tag: string) => boolean;

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
