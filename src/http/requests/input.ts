import type { FastifyRequest } from 'fastify';
import { AppError, invalid, malformed, notFound } from '../../base/errors.ts';
import { Faults, Fields, isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An id of the path in lower case. @throws AppError 404 when it is no UUID. @param what names the resource */
export function pathId(request: FastifyRequest, name: string, what: string): string {
  const id = (request.params as Readonly<Record<string, string>>)[name] ?? '';
  // A path that ends in a slash.
  if (id === '') throw new AppError('not_found', 'Route not found');
  if (!UUID.test(id)) throw notFound(what);
  return id.toLowerCase();
}

/** For lists without parameters. @throws AppError 400 */
export function refuseParameters(request: FastifyRequest): void {
  readParameters(request.query as QueryParameters, []);
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
  const faults = new Faults();
  new Fields(body, [name], faults);
  if (faults.any) throw invalid(...faults.messages);
  return resource;
}

/** For requests without a body or with an empty object. @throws AppError 400, 422 */
export function refuseFields(request: FastifyRequest): void {
  if (request.body === undefined) return;
  const faults = new Faults();
  new Fields(jsonBody(request), [], faults);
  if (faults.any) throw invalid(...faults.messages);
}
