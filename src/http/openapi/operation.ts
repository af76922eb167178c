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
  Changes: 'What has changed, in commit order',
  Usage: 'What was read, and where a write is',
  'Audit log': 'Who did what to what belongs to you',
  'Query log': 'What was asked in the last 24 hours',
  Service: 'This API and the server',
} as const;

/** `credential`: customer token or API key. `session`: customer token only. `none`: no credential is needed. */
export type Auth = 'credential' | 'session' | 'none';

/** Refusals beside those that follow from `auth`, `request` and the path. */
type Refusal = 401 | 403 | 404 | 410 | 412 | 422;

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
  | 'X-Matched-By'
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
  /** Empty: any parameter is refused. Absent: parameters are not looked at. */
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: readonly RequestHeader[];
  /** The body; `empty`: none, or an empty object. Absent: the operation reads no body. */
  readonly request?: ObjectSchema | 'empty';
  /** Octets of the longest body, where it is not the usual limit. */
  readonly bodyLimit?: number;
  /** It draws on no write budget. */
  readonly unmetered?: boolean;
  /** By status. The least one is that of a success. */
  readonly responses: Readonly<Record<number, ResponseDescription>>;
  readonly errors?: readonly Refusal[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
    /** Of a success. */
    status?: number;
  }
}

interface RouteDescription {
  readonly config: FastifyContextConfig;
  readonly bodyLimit?: number;
}

type Shared = Pick<Operation, 'tag' | 'auth'>;

/**
 * The options of the routes of a use case. What they say is enforced (`auth`, `bodyLimit`, the status of a success) or checked by the tests
 * of the API (the rest).
 * @param tag of the operations that name no other; so is `auth`
 * @example app.get('/passkeys', ROUTES.list, (request) => listOwnPasskeys(deps, userOf(request)))
 */
export function describeRoutes<K extends string>(
  tag: Shared['tag'],
  auth: Auth,
  operations: Readonly<Record<K, Omit<Operation, keyof Shared> & Partial<Shared>>>,
): Readonly<Record<K, RouteDescription>> {
  const described = Object.entries<Omit<Operation, keyof Shared> & Partial<Shared>>(operations).map(
    ([key, operation]) => [key, describe({ tag, auth, ...operation })],
  );
  return Object.fromEntries(described);
}

function describe(operation: Operation): RouteDescription {
  const { auth, bodyLimit, unmetered, responses } = operation;
  return {
    config: {
      operation,
      status: Math.min(...Object.keys(responses).map(Number)),
      ...(auth === 'session' && { session: true }),
      ...(auth === 'none' && { public: true }),
      ...(unmetered === true && { unmetered }),
    },
    ...(bodyLimit !== undefined && { bodyLimit }),
  };
}

/** A 201 with the resource and its URL, at which at least DELETE answers. */
export function createdResponse(
  schema: Schema,
  description: string,
  headers: readonly ResponseHeader[] = [],
): { readonly 201: ResponseDescription } {
  return { 201: { description, schema, headers: ['Location', ...headers] } };
}

export const DELETED = { 204: { description: 'Deleted' } } as const;

/** Of what DNS serves. */
export const DELETED_FROM_DNS = { 204: { description: 'Deleted', headers: ['X-Service-Seq'] } } as const;
