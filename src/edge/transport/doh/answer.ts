/** From a plan to a response: asks the handler, and clothes what it says in HTTP. Knows no socket and no HTTP version. */

import { LIMITS } from '../../../core/limits.ts';
import type { ReplyDecorator } from '../edns/decorator.ts';
import { headerRcode, type ListenOptions } from '../shared/listener.ts';
import { cacheSeconds } from './cache-seconds.ts';
import { DNS_MESSAGE, type DohError, type DohPlan } from './route.ts';

/** A JSON question made into a DNS query; what else it holds is its maker's. */
export interface JsonQuery {
  readonly request: Uint8Array;
  /** The answer is wanted as a DNS message all the same (`ct=application/dns-message`). */
  readonly wire: boolean;
}

/** The JSON API, which lives in `edge/query`. */
export interface JsonApi {
  query(params: URLSearchParams): JsonQuery | { readonly error: string };
  /** @returns the JSON document, or null for a reply that cannot be read */
  answer(query: JsonQuery, reply: Uint8Array): object | null;
}

export interface SchemaAnswer {
  readonly status: number;
  readonly body: object;
}

/** `GET /schema?q=`. Null stands for a missing parameter. */
export type SchemaApi = (q: string | null) => SchemaAnswer | Promise<SchemaAnswer>;

export interface DohResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface DohApi extends Pick<ListenOptions, 'handler' | 'clock' | 'observe' | 'onFault'> {
  readonly json: JsonApi;
  readonly schema?: SchemaApi | null;
  readonly decorator: ReplyDecorator;
}

/** The peer's address, for the transport alone: a cookie is made for it. */
export type PeerAddress = () => string;

const EMPTY = new Uint8Array(0);
const JSON_TYPE = 'application/json';
const NO_STORE = 'no-store';
const SCHEMA_SECONDS = 3600;
const PREFLIGHT_SECONDS = '86400';
/** Where a hot reply is built and options are added, before it is copied into its response. */
const scratch = Buffer.allocUnsafeSlow(LIMITS.dnsMessage);

/** On every response: any page may ask, and nothing it asked travels on (decisions, section 6). */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A static error as JSON. */
export function errorResponse({ status, error, allow }: DohError): DohResponse {
  const response = jsonResponse(status, { error }, NO_STORE);
  return allow === undefined ? response : { ...response, headers: { ...response.headers, allow } };
}

/** A 429, with the seconds after which to come back. */
export function throttled(seconds: number): DohResponse {
  const response = errorResponse({ kind: 'error', status: 429, error: 'Rate limit exceeded' });
  return {
    ...response,
    headers: { ...response.headers, 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
  };
}

/** Answers a plan that has no body to wait for; one that has comes back as `wire`, its body the message. */
export function answerPlan(
  plan: Exclude<DohPlan, { kind: 'body' }>,
  api: DohApi,
  peer: PeerAddress,
): DohResponse | Promise<DohResponse> {
  switch (plan.kind) {
    case 'error':
      return errorResponse(plan);
    case 'preflight':
      return preflight(plan.allow);
    case 'wire':
      return thenMap(ask(plan.message, api, peer), (reply) => wireResponse(reply, api));
    case 'json':
      return answerJson(plan.params, api, peer);
    case 'schema':
      return answerSchema(plan.query, api);
  }
}

function preflight(allow: string): DohResponse {
  const headers = {
    allow,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': 'Content-Type, Accept',
    'access-control-max-age': PREFLIGHT_SECONDS,
  };
  return { status: 204, headers, body: EMPTY };
}

function wireResponse(reply: Uint8Array | null, api: DohApi): DohResponse {
  if (reply === null) {
    api.observe.malformed('doh');
    return errorResponse({ kind: 'error', status: 400, error: 'Not a DNS query' });
  }
  return { status: 200, headers: wireHeaders(cacheSeconds(reply)), body: reply };
}

/** The same object for the same seconds: HTTP/2 keeps what it makes of it. */
function wireHeaders(seconds: number): Headers {
  let headers = wireHeadersBySeconds.get(seconds);
  if (headers === undefined) {
    if (wireHeadersBySeconds.size >= REMEMBERED_HEADERS) wireHeadersBySeconds.clear();
    headers = { 'content-type': DNS_MESSAGE, 'cache-control': cacheControl(seconds) };
    wireHeadersBySeconds.set(seconds, headers);
  }
  return headers;
}

type Headers = DohResponse['headers'];
const wireHeadersBySeconds = new Map<number, Headers>();
const REMEMBERED_HEADERS = 1024;

function answerJson(
  params: URLSearchParams,
  api: DohApi,
  peer: PeerAddress,
): DohResponse | Promise<DohResponse> {
  const query = api.json.query(params);
  if ('error' in query) {
    api.observe.malformed('doh');
    return errorResponse({ kind: 'error', status: 400, error: query.error });
  }
  return thenMap(ask(query.request, api, peer), (reply) => {
    if (query.wire) return wireResponse(reply, api);
    const body = reply === null ? null : api.json.answer(query, reply);
    if (reply === null || body === null) return INTERNAL;
    return jsonResponse(200, body, cacheControl(cacheSeconds(reply)));
  });
}

function answerSchema(q: string | null, api: DohApi): DohResponse | Promise<DohResponse> {
  if (!api.schema) return errorResponse({ kind: 'error', status: 404, error: 'Not found' });
  return thenMap(api.schema(q), ({ status, body }) =>
    jsonResponse(status, body, status === 200 ? cacheControl(SCHEMA_SECONDS) : NO_STORE),
  );
}

const INTERNAL: DohResponse = errorResponse({ kind: 'error', status: 500, error: 'Internal error' });

/** What a client gets for a fault of ours. */
export function internalError(): DohResponse {
  return INTERNAL;
}

function jsonResponse(status: number, body: object, cache: string): DohResponse {
  return {
    status,
    headers: { 'content-type': JSON_TYPE, 'cache-control': cache },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function cacheControl(seconds: number): string {
  return seconds === 0 ? NO_STORE : `max-age=${seconds}`;
}

/** The reply to a DNS message, or null: it was no query. */
function ask(
  message: Uint8Array,
  api: DohApi,
  peer: PeerAddress,
): Uint8Array | null | Promise<Uint8Array | null> {
  const { handler, decorator, clock, observe } = api;
  let octets = handler.hot(message, message.length, 'doh', scratch);
  if (octets > 0) {
    if (decorator.read(message)) octets = decorator.finish(peer(), scratch, octets);
    observe.reply('doh', octets, headerRcode(scratch), 0);
    return Buffer.copyBytesFrom(scratch, 0, octets);
  }
  const askedAt = clock();
  return thenMap(handler.slow(message, 'doh', true), (reply) => {
    if (reply === null) return null;
    const own = finished(message, reply, decorator, peer);
    observe.reply('doh', own.length, headerRcode(own), (clock() - askedAt) / 1000);
    return own;
  });
}

/** The reply itself, or a copy with options: a cache may hold the reply too. */
function finished(
  message: Uint8Array,
  reply: Uint8Array,
  decorator: ReplyDecorator,
  peer: PeerAddress,
): Uint8Array {
  if (!decorator.read(message)) return reply;
  scratch.set(reply);
  return Buffer.copyBytesFrom(scratch, 0, decorator.finish(peer(), scratch, reply.length));
}

/** `then` that stays synchronous when it can: most answers need no promise. */
function thenMap<A, B>(value: A | Promise<A>, map: (value: A) => B): B | Promise<B> {
  return value instanceof Promise ? value.then(map) : map(value);
}
