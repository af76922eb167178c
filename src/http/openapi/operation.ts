import type { FastifyContextConfig } from 'fastify';
import type { ObjectSchema, Schema } from '../../protocol/input/schema.ts';

export const TAGS = {
  Records: 'What DNS serves',
  Namespaces: 'The names that records stand under',
  'Query tokens': 'Who may read a private namespace over DNS',
  'API keys': 'Credentials of programs, with scopes',
  Webhooks: 'Signed events to your endpoint',
  Account: 'The signed-in user',
  'Sign-in': 'How a session begins and ends',
  Passkeys: 'Sign-in without e-mail',
  Organizations: 'Several users who share what belongs to an organization; only with UQRP_ORGANIZATIONS',
  Datasets: 'Signed reference data; only with UQRP_DATASETS',
  Usage: 'What was read, and where a write is',
  'Query log': 'What was asked in the last 24 hours',
  Service: 'This API and the server',
} as const;

/** `credential`: customer token or API key. `session`: customer token only. `none`: no credential is needed. */
export type Auth = 'credential' | 'session' | 'none';

/** Refusals beside those that follow from `auth`, `request` and the path. */
type Refusal = 400 | 401 | 403 | 404 | 412 | 422 | 429;

interface Parameter {
  readonly schema: Schema;
  readonly description: string;
  readonly required?: boolean;
}

export type RequestHeader = 'Idempotency-Key' | 'If-Match' | 'If-None-Match' | 'Last-Event-ID';
export type ResponseHeader =
  | 'Location'
  | 'ETag'
  | 'Link'
  | 'Set-Cookie'
  | 'Cache-Control'
  | 'X-Service-Seq'
  | 'Trailer'
  | 'Content-Disposition';

export interface ResponseDescription {
  readonly description: string;
  /** Absent: the response has no body. */
  readonly schema?: Schema;
  /** JSON unless given. */
  readonly contentType?: string;
  readonly headers?: readonly ResponseHeader[];
}

/** One operation of the API as the OpenAPI document has it. Path parameters and usual failures are added there. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  /** CommonMark: what the summary does not say. */
  readonly description?: string;
  readonly tag: keyof typeof TAGS;
  readonly auth: Auth;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: readonly RequestHeader[];
  /** The body; `empty`: none, or an empty object. Absent: the operation reads no body. */
  readonly request?: ObjectSchema | 'empty';
  /** Octets of the longest body, where it is not the usual limit. */
  readonly bodyLimit?: number;
  /** By status. */
  readonly responses: Readonly<Record<number, ResponseDescription>>;
  readonly errors?: readonly Refusal[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

interface RouteDescription {
  readonly config: FastifyContextConfig;
  readonly bodyLimit?: number;
}

/**
 * The options of a route. What they say is enforced (`auth`, `bodyLimit`) or checked by the tests of the API (the rest).
 * @example app.get('/me', describe(ACCOUNT_OPERATIONS.me), (request) => currentUser(deps, actorOf(request)))
 */
export function describe(operation: Operation): RouteDescription {
  const { auth, bodyLimit } = operation;
  return {
    config: {
      operation,
      ...(auth === 'session' && { session: true }),
      ...(auth === 'none' && { public: true }),
    },
    ...(bodyLimit !== undefined && { bodyLimit }),
  };
}

/** A 201 with the resource and its URL. */
export function createdResponse(
  schema: Schema,
  description: string,
  headers: readonly ResponseHeader[] = [],
): { readonly 201: ResponseDescription } {
  return { 201: { description, schema, headers: ['Location', ...headers] } };
}

/** A 201 of what has no URL to GET. */
export function madeResponse(
  schema: Schema,
  description: string,
  headers: readonly ResponseHeader[] = [],
): { readonly 201: ResponseDescription } {
  return { 201: { description, schema, headers } };
}

export const DELETED = { 204: { description: 'Deleted' } } as const;

/** Of what DNS serves. */
export const DELETED_FROM_DNS = { 204: { description: 'Deleted', headers: ['X-Service-Seq'] } } as const;
