import { type Deadline, runAttempts } from '../../shared/attempts.ts';
import { defaultFetch, type Fetch, reasonOf } from '../../shared/fetch.ts';
import { isBrowser, randomUuid } from '../../shared/runtime.ts';
import { pauseMs } from '../../shared/wait.ts';
import { ApiError, apiError, ConnectionError, TimeoutError } from './errors.ts';

/** The same as in package.json, which a bundle does not hold. */
export const VERSION = '0.2.0';

/** Statuses after which the same request may succeed. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);

/**
 * Whether a failed attempt may be repeated.
 * @param isRepeatable the request has the same effect twice as once: a read, a DELETE, a POST with an Idempotency-Key.
 * Others are repeated only after 429, which the server answers before it does anything
 */
function mayRetry(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof ApiError) return error.status === 429 || (isRepeatable && TRANSIENT.has(error.status));
  return isRepeatable && (error instanceof ConnectionError || error instanceof TimeoutError);
}

/** Milliseconds before the attempt after one that failed. @param failures so far, from 1 */
export function retryWaitMs(error: unknown, failures: number): number {
  return pauseMs(failures, error instanceof ApiError ? error.retryAfter : null);
}

export interface UqrpOptions {
  /** Address of the server, such as `https://uqrp.example.net`, with or without `/api/v1`. */
  readonly baseUrl: string;
  /** Customer token or API key. Without a credential only `auth` and `meta` are of use. */
  readonly token?: string | undefined;
  /**
   * For pages of the server's own origin: the credential is the cookie that `auth.verify` with `cookie: true` sets. Not
   * together with `token`.
   */
  readonly credentials?: 'same-origin' | undefined;
  /** Default: `globalThis.fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Milliseconds for a call with its repetitions, which share them. Default 30,000. */
  readonly timeout?: number | undefined;
  /** Repetitions of a failed call. Default 2. */
  readonly retries?: number | undefined;
  /** Name of your program, for the `User-Agent` header. */
  readonly userAgent?: string | undefined;
}

export interface CallOptions {
  /** Ends the call. It then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
  /** Called after a write that DNS nodes have to apply, with its place in the feed: give it to `propagation`. */
  readonly onWritten?: ((seq: string) => void) | undefined;
}

/** For POST. */
export interface PostOptions extends CallOptions {
  /** Default: a new UUID for each call, so that repetitions of one call are done once. */
  readonly idempotencyKey?: string | undefined;
}

export type QueryParameters = Readonly<Record<string, string | number | boolean | Date | null | undefined>>;

export interface RequestParts extends PostOptions {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/api/v1`, with a leading `/`, its parts encoded. */
  readonly path: string;
  readonly query?: QueryParameters | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A POST without an Idempotency-Key is not repeated, except after 429. */
  readonly isKeyless?: boolean | undefined;
  /** Milliseconds that the server may wait before it answers: no part of the time that repetitions share. */
  readonly patience?: number | undefined;
}

export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

const TIMEOUT_MS = 30_000;
const RETRIES = 2;
/** Header values that `fetch` accepts. It quotes a value that it refuses, and a token must not be quoted. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

/** Sends requests: adds the credential, repeats what may be repeated, and turns every failure into a `UqrpError`. */
export class Http {
  readonly base: string;
  readonly #token: string | undefined;
  readonly #fetch: Fetch;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #agent: string;
  readonly #credentials: 'same-origin' | undefined;

  constructor(options: UqrpOptions) {
    this.base = baseOf(options.baseUrl);
    const { token, credentials, userAgent, timeout = TIMEOUT_MS, retries = RETRIES } = options;
    if (token !== undefined && !HEADER_VALUE.test(token)) {
      throw new TypeError('token must be a customer token or an API key: printable ASCII without spaces');
    }
    if (token !== undefined && credentials !== undefined)
      throw new TypeError('give either token or credentials');
    if (userAgent !== undefined && !/^[\x20-\x7e]+$/.test(userAgent))
      throw new TypeError('userAgent must be ASCII');
    if (!(timeout > 0)) throw new RangeError('timeout must be positive');
    if (!(retries >= 0)) throw new RangeError('retries must not be negative');
    this.#token = token;
    this.#credentials = credentials;
    this.#fetch = options.fetch ?? defaultFetch;
    this.#timeout = timeout;
    this.#retries = retries;
    this.#agent = userAgent === undefined ? `uqrp-sdk/${VERSION}` : `uqrp-sdk/${VERSION} ${userAgent}`;
  }

  /** The answer to one request, its body parsed as JSON; null without a body. */
  async json<T>(parts: RequestParts): Promise<Answer<T>> {
    return await this.#call(parts, async (response, deadline) => {
      const text = await response.text();
      deadline.stopClock();
      const { status, headers } = response;
      try {
        return { status, headers, body: text === '' ? null : JSON.parse(text) };
      } catch {
        // For example of a proxy in between.
        throw apiError(status, headers, '');
      }
    });
  }

  /**
   * A response whose body the caller reads. The timeout covers only the head of the response; `signal` also ends the
   * body.
   */
  async open(parts: RequestParts): Promise<Response> {
    return await this.#call(parts, async (response, deadline) => {
      deadline.stopClock();
      return response;
    });
  }

  /** Sends until an attempt succeeds or may not be repeated. The timeout covers attempts, waits and `read`. */
  async #call<T>(
    parts: RequestParts,
    read: (response: Response, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const { signal, timeout = this.#timeout, retries = this.#retries, patience } = parts;
    const request = this.#request(parts);
    const { isRepeatable } = request;
    const attempts = {
      timeout,
      retries,
      patience,
      isRepeatable,
      signal,
      late: () => new TimeoutError(timeout),
      pauseAfter: (error: unknown, failures: number) =>
        mayRetry(error, isRepeatable) ? retryWaitMs(error, failures) : null,
    };
    return await runAttempts(attempts, (deadline, failures) =>
      this.#attempt(request, parts, failures, deadline, read),
    );
  }

  async #attempt<T>(
    request: PreparedRequest,
    parts: RequestParts,
    failures: number,
    deadline: Deadline,
    read: (response: Response, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const { signal } = deadline;
    try {
      const response = await this.#fetch(request.url, { ...request.init, signal });
      // A body may be long, or come over a slow link: another attempt would take as long.
      deadline.lengthen();
      if (response.ok || response.status === 304) {
        const seq = response.headers.get('x-service-seq');
        if (seq !== null) parts.onWritten?.(seq);
        return await read(response, deadline);
      }
      const error = apiError(response.status, response.headers, await limitedText(response));
      // The attempt before may have deleted it without its answer arriving.
      if (failures > 0 && parts.method === 'DELETE' && error.code === 'not_found') {
        return await read(new Response(null, { status: 204 }), deadline);
      }
      throw error;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof ApiError ? error : new ConnectionError(reasonOf(error));
    }
  }

  #request(parts: RequestParts): PreparedRequest {
    const { method, body, isKeyless = false } = parts;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (!isBrowser()) headers['user-agent'] = this.#agent;
    if (this.#token !== undefined) headers.authorization = `Bearer ${this.#token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (method === 'POST' && !isKeyless) {
      headers['idempotency-key'] = parts.idempotencyKey ?? randomUuid();
    }
    Object.assign(headers, parts.headers);
    const init: RequestInit = { method, headers, redirect: 'manual' };
    // Set only on demand: some runtimes refuse the member.
    if (this.#credentials !== undefined) init.credentials = this.#credentials;
    if (body !== undefined) init.body = JSON.stringify(body);
    const isRepeatable = method === 'GET' || method === 'DELETE' || (method === 'POST' && !isKeyless);
    return { url: this.base + parts.path + queryString(parts.query), init, isRepeatable };
  }
}

/** Milliseconds that an answer may take longer than the server waits. */
const GRACE_MS = 30_000;

/** The times of a request that asks the server to wait. @param seconds undefined: it does not */
export function patienceFor(seconds: number | undefined): Pick<RequestParts, 'timeout' | 'patience'> {
  return seconds === undefined ? {} : { timeout: seconds * 1000 + GRACE_MS, patience: seconds * 1000 };
}

interface PreparedRequest {
  readonly url: string;
  readonly init: RequestInit;
  readonly isRepeatable: boolean;
}

function baseOf(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl must be an http or https URL without a query');
  }
  // fetch refuses such URLs with a message that quotes them.
  if (url.username !== '' || url.password !== '') throw new TypeError('baseUrl must not hold credentials');
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path.endsWith('/api/v1') ? path : `${path}/api/v1`}`;
}

function queryString(query: QueryParameters = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    search.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

const ERROR_BODY_MAX = 65_536;

/** The body of an error, cut off where no error of the API is as long. */
async function limitedText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
    if (text.length > ERROR_BODY_MAX) {
      await reader.cancel();
      return text;
    }
  }
}
