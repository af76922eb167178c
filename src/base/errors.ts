/** REST error codes and their status. */
export const ERROR_CODES = {
  authentication_error: 401,
  authorization_error: 403,
  not_found: 404,
  validation_error: 422,
  quota_exceeded: 422,
  rate_limit_exceeded: 429,
  server_error: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Statuses for a request of the wrong shape. Their code is `validation_error`, except on an unknown route. */
export type ShapeStatus = 400 | 405 | 412 | 413 | 415;

interface AppErrorOptions {
  readonly status?: number;
  /** Whole seconds, at least 1; only with `rate_limit_exceeded`. */
  readonly retryAfter?: number;
}

/** A refusal that the caller reads. Messages never contain a secret, a payload or another customer's identifier. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly messages: readonly string[];
  /** True: the body is `{"errors": [...]}`, the form of failed validations. */
  readonly plural: boolean;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, messages: string | readonly string[], options: AppErrorOptions = {}) {
    const list = typeof messages === 'string' ? [messages] : messages;
    super(list.join('; '));
    this.name = 'AppError';
    this.code = code;
    this.status = options.status ?? ERROR_CODES[code];
    this.messages = list;
    this.plural = typeof messages !== 'string';
    this.retryAfter = options.retryAfter;
  }
}

/** 422 with one message for each fault. A message begins with the name of the field. */
export function invalid(...messages: readonly string[]): AppError {
  return new AppError('validation_error', messages);
}

export function malformed(status: ShapeStatus, message: string): AppError {
  return new AppError('validation_error', message, { status });
}

/** 404 both for what does not exist and for what belongs to another customer: the two must look alike. */
export function notFound(what: string): AppError {
  return new AppError('not_found', `${what} not found`);
}

export function forbidden(message: string): AppError {
  return new AppError('authorization_error', message);
}

export function namespaceSuspended(): AppError {
  return forbidden('Namespace is suspended');
}

export function unauthenticated(message: string): AppError {
  return new AppError('authentication_error', message);
}

/** A wrong command of an operator: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** A command of an operator fails by its input or the data: exit code 1. The text says what to do. */
export class InputError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InputError';
  }
}
