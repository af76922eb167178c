import { ReadError } from './read-error.ts';

/** REFUSED: the token is missing, wrong, expired or revoked, or there is no such namespace. The reply does not say which. */
export class Refused extends ReadError {
  override readonly name: string = 'Refused';

  constructor() {
    super('The server refused the read: the token does not fit, or there is no such namespace');
  }
}

/** An empty answer: there is no record with this key, or it has expired. */
export class NotFound extends ReadError {
  override readonly name: string = 'NotFound';

  constructor() {
    super('There is no record at this name');
  }
}

/** FORMERR: the server does not understand the question. */
export class Malformed extends ReadError {
  override readonly name: string = 'Malformed';
  /** What was not understood, in the server's fixed words; null with `servers`. */
  readonly detail: string | null;

  constructor(detail: string | null) {
    super(`The server does not understand the name${detail === null ? '' : `: ${detail}`}`);
    this.detail = detail;
  }
}

/** A public service answered with an error envelope. */
export class ServiceError extends ReadError {
  override readonly name: string = 'ServiceError';
  /** `E004`: no such thing; `E010`: no budget left at the provider; see docs/SERVICES.md. */
  readonly code: string;
  /** `notfound`, `ratelimit` or `error`. */
  readonly status: string;
  /** Seconds after which asking again may help. */
  readonly retryAfter: number | null;

  constructor(code: string, status: string, message: string, retryAfter: number | null) {
    super(`${code}: ${message}`);
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** No usable answer: no connection, a timeout, SERVFAIL. Asking again may help. */
export class Unavailable extends ReadError {
  override readonly name: string = 'Unavailable';
  /** `SERVFAIL`, `HTTP 503`, `timeout`, or the runtime's code such as `ECONNREFUSED`. */
  readonly reason: string;

  constructor(reason: string) {
    super(`No usable answer (${reason})`);
    this.reason = reason;
  }
}

/** The answer is no envelope that this version can read, or its data is not of the form asked for. */
export class Unreadable extends ReadError {
  override readonly name: string = 'Unreadable';

  constructor(what: string) {
    super(what);
  }
}

/** The last known good file is not used: others may read it, or it is another file. The message names it, and nothing of its content. */
export class LastKnownGoodError extends ReadError {
  override readonly name: string = 'LastKnownGoodError';
}
