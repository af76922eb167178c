import { retryAfterOf } from '../../shared/wait.ts';

/** `code` of an error body. `unknown`: the answer is not of the API, for example of a proxy in between. */
export type ErrorCode =
  | 'authentication_error'
  | 'authorization_error'
  | 'not_found'
  | 'validation_error'
  | 'quota_exceeded'
  | 'rate_limit_exceeded'
  | 'server_error'
  | 'unknown';

/**
 * Every failure of a call except a caller's abort. No message and no field of it holds the token, a header or a body
 * of the request. There is no `cause`, because errors of a runtime's `fetch` may quote headers.
 */
export class UqrpError extends Error {
  override readonly name: string = 'UqrpError';

  /** Whether the same call may succeed later: the server is away or busy, or something in between answered in its place. */
  get isPassing(): boolean {
    return false;
  }
}

export interface ApiErrorParts {
  readonly status: number;
  readonly code: ErrorCode;
  readonly messages: readonly string[];
  readonly requestId: string | null;
  readonly retryAfter: number | null;
}

/** The server answered with an error. */
export class ApiError extends UqrpError {
  override readonly name: string = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode;
  /** One for each fault. A message begins with the field that it is about. */
  readonly messages: readonly string[];
  /** `X-Request-Id`: give it to the operator with a report. */
  readonly requestId: string | null;
  /** `Retry-After` in seconds. */
  readonly retryAfter: number | null;

  constructor(parts: ApiErrorParts) {
    super(`${parts.status} ${parts.code}: ${parts.messages.join('; ')}`);
    this.status = parts.status;
    this.code = parts.code;
    this.messages = parts.messages;
    this.requestId = parts.requestId;
    this.retryAfter = parts.retryAfter;
  }

  /** A proxy may answer with any status while it does not reach the server, so `unknown` is no refusal. */
  override get isPassing(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500 || this.code === 'unknown';
  }
}

/** No answer, or only a part of one. `reason` is the runtime's code, such as `ECONNREFUSED`, where it gives one. */
export class ConnectionError extends UqrpError {
  override readonly name: string = 'ConnectionError';
  readonly reason: string | null;

  constructor(reason: string | null) {
    super(`The server could not be reached, or the answer broke off${reason === null ? '' : ` (${reason})`}`);
    this.reason = reason;
  }

  override get isPassing(): boolean {
    return true;
  }
}

/** The call and its repetitions took longer than `timeout`. */
export class TimeoutError extends UqrpError {
  override readonly name: string = 'TimeoutError';
  /** Of the call. */
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`No answer within ${milliseconds} ms`);
    this.milliseconds = milliseconds;
  }

  override get isPassing(): boolean {
    return true;
  }
}

const CODES: ReadonlySet<string> = new Set([
  'authentication_error',
  'authorization_error',
  'not_found',
  'validation_error',
  'quota_exceeded',
  'rate_limit_exceeded',
  'server_error',
]);

/** Reads an error body: `{"error", "code"}` or `{"errors", "code"}`. Anything else is `unknown`. */
export function apiError(status: number, headers: Headers, text: string): ApiError {
  const body = parsed(text);
  const { code, error, errors } = isObject(body) ? body : {};
  const messages = Array.isArray(errors) ? errors : [error];
  const isOurs =
    typeof code === 'string' && CODES.has(code) && messages.every((one) => typeof one === 'string');
  return new ApiError({
    status,
    code: isOurs ? (code as ErrorCode) : 'unknown',
    messages: isOurs ? messages : [explain(status)],
    requestId: headers.get('x-request-id'),
    retryAfter: retryAfterOf(headers),
  });
}

function explain(status: number): string {
  // A browser shows a redirect as status 0.
  if (status === 0 || (status >= 300 && status < 400)) return 'the server redirects: check baseUrl';
  return 'the answer is not one of the API: check baseUrl';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
