import { ERROR_CODES, type ErrorCode } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { resourceSchema, type Schema, UUID } from '../../protocol/input/schema.ts';
import { SECURE_NAME } from '../session-cookie.ts';
import type { RequestHeader, ResponseHeader } from './operation.ts';

interface ErrorBody {
  readonly error: string;
  readonly code: ErrorCode;
}

interface ErrorsBody {
  readonly errors: readonly string[];
  readonly code: 'validation_error';
}

const ERROR = resourceSchema<ErrorBody>('Error', {
  error: { type: 'string', examples: ['Record not found'] },
  code: { type: 'string', enum: Object.keys(ERROR_CODES) },
});

const ERRORS = resourceSchema<ErrorsBody>('ValidationErrors', {
  errors: {
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    description: 'Every fault at once. A message begins with the field that it is about',
    examples: [['colour is not a known field', 'data is not strict Base64']],
  },
  code: { const: 'validation_error' },
});

interface Failure {
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  readonly code: ErrorCode;
  readonly example: string;
  /** Headers beside those of every response. */
  readonly headers?: readonly string[];
}

/** What each status of a failure means, in every operation. */
const FAILURES = {
  400: {
    name: 'BadRequest',
    description:
      'The request cannot be read: bad JSON, a field twice, no envelope, a bad query parameter, cursor or header',
    code: 'validation_error',
    example: 'Body is not valid JSON',
  },
  401: {
    name: 'Unauthenticated',
    description: 'No credential, or an invalid one',
    code: 'authentication_error',
    example: 'Credentials are missing',
    headers: ['WWW-Authenticate'],
  },
  403: {
    name: 'Forbidden',
    description:
      'The API key lacks the operation, does not reach the namespace, or may not use the endpoint; the namespace is suspended; a cookie session from another origin',
    code: 'authorization_error',
    example: 'API key lacks the write scope',
  },
  404: {
    name: 'NotFound',
    description: 'No such object; an id that is no UUID; an object of another customer',
    code: 'not_found',
    example: 'Record not found',
  },
  408: {
    name: 'RequestTimeout',
    description:
      'The head of the request took longer than 10 s to arrive, or the whole request longer than 30 s',
    code: 'validation_error',
    example: 'Request took too long',
  },
  410: {
    name: 'Gone',
    description: 'The cursor is older than what is kept, or of another store',
    code: 'not_found',
    example: 'since is older than the feed keeps',
  },
  412: {
    name: 'PreconditionFailed',
    description: 'A condition of the request does not hold',
    code: 'validation_error',
    example: 'If-Match does not match the record',
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is larger than the operation takes',
    code: 'validation_error',
    example: 'Body is too large',
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'A body that is not `application/json`, or is compressed',
    code: 'validation_error',
    example: 'Content-Type must be application/json',
    headers: ['Accept-Encoding'],
  },
  422: {
    name: 'Unprocessable',
    description:
      'The request was read and means something that is not allowed; an unknown field, by its name; the account is full (`quota_exceeded`)',
    code: 'quota_exceeded',
    example: 'Record limit of the account reached',
  },
  429: {
    name: 'TooManyRequests',
    description: 'Too many requests',
    code: 'rate_limit_exceeded',
    example: 'Rate limit exceeded',
    headers: ['Retry-After'],
  },
  431: {
    name: 'HeadersTooLarge',
    description: 'The headers are too large',
    code: 'validation_error',
    example: 'Headers are too large',
  },
  500: {
    name: 'ServerError',
    description: 'A fault of the server. Report the `X-Request-Id`',
    code: 'server_error',
    example: 'Server error',
  },
} as const satisfies Readonly<Record<number, Failure>>;

export type FailureStatus = keyof typeof FAILURES;

interface HeaderRow {
  readonly description: string;
  readonly schema: Schema;
}

const SHARED_HEADERS = {
  'X-Request-Id': { description: 'Identifies the answer in reports of a fault', schema: UUID },
} as const satisfies Readonly<Record<string, HeaderRow>>;

const RESPONSE_HEADERS = {
  ...SHARED_HEADERS,
  Location: {
    description: 'URL of the new resource',
    schema: { type: 'string', format: 'uri', examples: ['https://uqrp.example/api/v1/records/0198f3a0'] },
  },
  ETag: {
    description: 'A strong tag. Every write changes it',
    schema: { type: 'string', examples: ['"mju3k1c0"'] },
  },
  Link: {
    description: 'The next page (RFC 8288). The last one has none',
    schema: {
      type: 'string',
      examples: ['<https://uqrp.example/api/v1/records?limit=100&cursor=x>; rel="next"'],
    },
  },
  'Set-Cookie': { description: 'The session of a browser', schema: { type: 'string' } },
  'X-Service-Seq': {
    description:
      'Where the write stands in the feed to the DNS nodes, for `GET /propagation`. A repeated answer (`Idempotency-Key`) and a request that changed nothing have none',
    schema: { type: 'string', examples: ['AW9wYXF1ZQ'] },
  },
  'X-Matched-By': {
    description: 'What `q` was found to be. There only with `q`',
    schema: { type: 'string', enum: ['key_prefix', 'resource', 'namespace', 'nothing'] },
  },
  Trailer: { description: 'Fields after the body', schema: { type: 'string', examples: ['X-Record-Count'] } },
  'Content-Disposition': {
    description: 'A name for the file',
    schema: { type: 'string', examples: ['attachment; filename="acme.jsonl"'] },
  },
  'Cache-Control': { description: 'How long the answer may be kept', schema: { type: 'string' } },
  'Retry-After': {
    description: 'Seconds to wait',
    schema: { type: 'integer', minimum: 1, examples: [7] },
  },
  'WWW-Authenticate': { description: 'The scheme', schema: { const: 'Bearer' } },
  'Accept-Encoding': { description: 'Content codings that are accepted', schema: { const: 'identity' } },
} as const satisfies Readonly<Record<ResponseHeader, HeaderRow>> & Readonly<Record<string, HeaderRow>>;

const REQUEST_HEADERS = {
  'Idempotency-Key': {
    description: `A key of your own. For ${LIMITS.idempotencyHours} hours the same request with the same key gets the same answer, and nothing is done a second time. With another path or body it is 422`,
    schema: { type: 'string', pattern: `^[ -~]{1,${LIMITS.idempotencyKey}}$` },
  },
  'If-Match': {
    description: '`*`, or tags: 412, unless the record has one of them now',
    schema: { type: 'string' },
  },
  'If-None-Match': {
    description:
      'GET: `*`, or tags: 304, when the record has one of them. POST: `*`: 412 when the key is taken',
    schema: { type: 'string' },
  },
  'Last-Event-ID': {
    description: 'Id of the last event that was received: the stream goes on after it',
    schema: { type: 'string' },
  },
} as const satisfies Readonly<Record<RequestHeader, HeaderRow>>;

export const headerRef = (name: string): Schema => ({ $ref: `#/components/headers/${name}` });
export const parameterRef = (name: string): Schema => ({ $ref: `#/components/parameters/${name}` });
export const failureRef = (status: FailureStatus): Schema => ({
  $ref: `#/components/responses/${FAILURES[status].name}`,
});

export interface SharedComponents {
  readonly headers: Schema;
  readonly parameters: Schema;
  readonly responses: Schema;
  readonly securitySchemes: Schema;
}

/** The components apart from schemas of resources. @param hoist makes a reference of a schema with a title */
export function sharedComponents(hoist: (schema: Schema) => Schema): SharedComponents {
  return {
    headers: RESPONSE_HEADERS,
    parameters: Object.fromEntries(
      Object.entries(REQUEST_HEADERS).map(([name, row]) => [name, { name, in: 'header', ...row }]),
    ),
    responses: Object.fromEntries(
      Object.entries(FAILURES).map(([status, row]) => [
        row.name,
        failureResponse(Number(status), row, hoist),
      ]),
    ),
    securitySchemes: {
      customerToken: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'A session of a signed-in user: everything of the customer',
      },
      browserSession: {
        type: 'apiKey',
        in: 'cookie',
        name: SECURE_NAME,
        description:
          'The same session for pages of this server alone; without the prefix `__Host-` on http. An unsafe request needs `Sec-Fetch-Site: same-origin` and the own `Origin`',
      },
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: '64 lower-case hexadecimal letters',
        description:
          'An API key, within its scopes: GET needs `read`, everything else `write`, and neither implies the other',
      },
    },
  };
}

function failureResponse(status: number, failure: Failure, hoist: (schema: Schema) => Schema): Schema {
  const { description, code, example, headers = [] } = failure;
  const schema = status === 422 ? { anyOf: [hoist(ERRORS), hoist(ERROR)] } : hoist(ERROR);
  return {
    description,
    headers: Object.fromEntries(
      [...Object.keys(SHARED_HEADERS), ...headers].map((name) => [name, headerRef(name)]),
    ),
    content: { 'application/json': { schema, example: { error: example, code } } },
  };
}
