/** Answers a resource request: asks the packet handler and makes its reply an HTTP reply, for every HTTP version. */

import { LIMITS } from '../../base/limits.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { u16At, u32At } from '../../protocol/dns/octets.ts';
import { afterName, HEADER_OCTETS, QUESTION_OCTETS, RECORD_OCTETS } from '../../protocol/dns/skim.ts';
import { AUTH_PREFIX } from '../../protocol/names/labels.ts';
import type { ReplyDecorator } from '../shared/edns.ts';
import type { JsonApi } from '../shared/handler.ts';
import { headerRcode, type ListenOptions, queueShare } from '../shared/listener.ts';
import {
  type AskingRequest,
  BODY_FAULTS,
  DNS_MESSAGE,
  type DohError,
  type Exchange,
  type Headers,
  type HttpReply,
  type ResourceRequest,
  readRequest,
} from './request.ts';

/** Offset from the end of an SOA: the TTL of negative answers. */
const MINIMUM_OCTETS = 4;
const AUTH = Buffer.from(AUTH_PREFIX);
/** Set in lower-case letters and in the hyphen. */
const CASE_BIT = 0x20;
/** A TTL with the top bit set counts as zero (RFC 2181 §8). */
const TTL_MAX = 0x7fff_ffff;

/**
 * HTTP cache time in seconds (RFC 8484 §5.1): the least TTL in answer and authority; an SOA counts with its negative TTL
 * (RFC 2308 §5). 0, no caching: a private answer (TTL 0), a reply without records, an unreadable one, or one to a question that
 * holds a token, whatever the namespace: a cache would keep the token with the name.
 */
export function cacheSeconds(reply: Uint8Array): number {
  if (reply.length < HEADER_OCTETS) return 0;
  let at = HEADER_OCTETS;
  for (let questions = u16At(reply, 4); questions > 0; questions--) {
    const end = afterName(reply, at, reply.length);
    if (end < 0 || hasToken(reply, at, end)) return 0;
    at = end + QUESTION_OCTETS;
  }
  const records = u16At(reply, 6) + u16At(reply, 8);
  let least = TTL_MAX;
  for (let record = 0; record < records; record++) {
    at = afterName(reply, at, reply.length);
    if (at < 0 || at + RECORD_OCTETS > reply.length) return 0;
    const type = u16At(reply, at);
    const ttl = u32At(reply, at + 4);
    at += RECORD_OCTETS + u16At(reply, at + 8);
    if (at > reply.length) return 0;
    least = Math.min(least, ttl > TTL_MAX ? 0 : ttl);
    if (type === RRTYPE.SOA) least = Math.min(least, u32At(reply, at - MINIMUM_OCTETS));
  }
  return records === 0 ? 0 : least;
}

/** Whether a label of a name, in whatever case, is a token. @param end after the name, which is whole */
function hasToken(octets: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += octets[at]! + 1) if (isTokenAt(octets, at)) return true;
  return false;
}

function isTokenAt(octets: Uint8Array, at: number): boolean {
  if (octets[at]! < AUTH.length) return false;
  return AUTH.every((letter, i) => (octets[at + 1 + i]! | CASE_BIT) === letter);
}

interface SchemaAnswer {
  readonly status: number;
  readonly body: object;
}

/** `GET /schema?q=`. Null: the parameter is missing. */
type SchemaApi = (q: string | null) => SchemaAnswer | Promise<SchemaAnswer>;

export interface DohApi extends Pick<ListenOptions, 'handler' | 'clock' | 'observe' | 'onFault'> {
  readonly json: JsonApi;
  readonly schema?: SchemaApi | null;
  readonly decorator: ReplyDecorator;
}

const EMPTY = new Uint8Array(0);
const JSON_TYPE = 'application/json';
const NO_STORE = 'no-store';
const SCHEMA_CACHE = 'max-age=3600';
/** A cache would keep the token with the URL. */
const TOKEN_LABEL = /(^|\.)auth-/i;
const PREFLIGHT_SECONDS = '86400';
/** Memory of one hot reply. `ask` copies out of it before it returns, so replies do not overlap. */
const scratch = Buffer.allocUnsafeSlow(LIMITS.dnsMessage);

/** On every reply: pages of any origin may read it, and browsers send no query name as a referrer. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

export function errorResponse({ status, error, allow }: DohError): HttpReply {
  const response = jsonResponse(status, { error }, NO_STORE);
  return allow === undefined ? response : { ...response, headers: { ...response.headers, allow } };
}

/** A 429 with `Retry-After` in seconds, rounded up, at least 1. */
export function throttled(seconds: number): HttpReply {
  const response = errorResponse({ kind: 'error', status: 429, error: 'Rate limit exceeded' });
  return {
    ...response,
    headers: { ...response.headers, 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
  };
}

/** Answers what needs no DNS. */
function answerLocally(plan: Extract<ResourceRequest, { kind: 'error' | 'preflight' }>): HttpReply {
  return plan.kind === 'error' ? errorResponse(plan) : preflight(plan.allow);
}

/** Answers a request whose body is complete; a POST arrives as `wire`. */
export function answerRequest(
  plan: AskingRequest,
  api: DohApi,
  peer: () => string,
): HttpReply | Promise<HttpReply> {
  switch (plan.kind) {
    case 'wire':
      return thenMap(ask(plan.message, api, peer), (reply) => wireResponse(reply, api));
    case 'json':
      return answerJson(plan.params, api, peer);
    case 'schema':
      return answerSchema(plan.query, api);
  }
}

function preflight(allow: string): HttpReply {
  const headers = {
    allow,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': 'Content-Type, Accept',
    'access-control-max-age': PREFLIGHT_SECONDS,
  };
  return { status: 204, headers, body: EMPTY };
}

function wireResponse(reply: Uint8Array | null, api: DohApi): HttpReply {
  if (reply === null) {
    api.observe.malformed('doh');
    return errorResponse({ kind: 'error', status: 400, error: 'Not a DNS query' });
  }
  return { status: 200, headers: wireHeaders(cacheSeconds(reply)), body: reply };
}

/** One object per number of seconds: the HPACK encoder caches its header block by object identity. */
function wireHeaders(seconds: number): Headers {
  let headers = wireHeadersBySeconds.get(seconds);
  if (headers === undefined) {
    if (wireHeadersBySeconds.size >= REMEMBERED_HEADERS) wireHeadersBySeconds.clear();
    headers = { 'content-type': DNS_MESSAGE, 'cache-control': cacheControl(seconds) };
    wireHeadersBySeconds.set(seconds, headers);
  }
  return headers;
}

const wireHeadersBySeconds = new Map<number, Headers>();
const REMEMBERED_HEADERS = 1024;

function answerJson(
  params: URLSearchParams,
  api: DohApi,
  peer: () => string,
): HttpReply | Promise<HttpReply> {
  return thenMap(
    api.json(params, (query) => ask(query, api, peer)),
    (result) => {
      switch (result.kind) {
        case 'refused':
          api.observe.malformed('doh');
          return errorResponse({ kind: 'error', status: 400, error: result.error });
        case 'message':
          return wireResponse(result.reply, api);
        case 'document':
          return jsonResponse(200, result.document, cacheControl(cacheSeconds(result.reply)));
        case 'unreadable':
          return INTERNAL;
      }
    },
  );
}

function answerSchema(q: string | null, api: DohApi): HttpReply | Promise<HttpReply> {
  if (!api.schema) return errorResponse({ kind: 'error', status: 404, error: 'Not found' });
  return thenMap(api.schema(q), ({ status, body }) =>
    jsonResponse(status, body, status === 200 && !TOKEN_LABEL.test(q ?? '') ? SCHEMA_CACHE : NO_STORE),
  );
}

const INTERNAL: HttpReply = errorResponse({ kind: 'error', status: 500, error: 'Internal error' });

export function internalError(): HttpReply {
  return INTERNAL;
}

function jsonResponse(status: number, body: object, cache: string): HttpReply {
  return {
    status,
    headers: { 'content-type': JSON_TYPE, 'cache-control': cache },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function cacheControl(seconds: number): string {
  return seconds === 0 ? NO_STORE : `max-age=${seconds}`;
}

/** The reply to a DNS message; null: not a query. */
function ask(
  message: Uint8Array,
  api: DohApi,
  peer: () => string,
): Uint8Array | null | Promise<Uint8Array | null> {
  const { handler, decorator, clock, observe } = api;
  let octets = handler.hot(message, message.length, 'doh', scratch);
  if (octets > 0) {
    if (decorator.read(message)) octets = decorator.finish(peer(), scratch, octets);
    observe.reply('doh', octets, headerRcode(scratch), 0);
    return Buffer.copyBytesFrom(scratch, 0, octets);
  }
  const askedAt = clock();
  return thenMap(handler.slow(message, 'doh', true, queueShare(peer())), (reply) => {
    if (reply === null) return null;
    const own = finished(message, reply, decorator, peer);
    observe.reply('doh', own.length, headerRcode(own), (clock() - askedAt) / 1000);
    return own;
  });
}

/** The reply, or a copy with options: the cache shares the original. */
function finished(
  message: Uint8Array,
  reply: Uint8Array,
  decorator: ReplyDecorator,
  peer: () => string,
): Uint8Array {
  if (!decorator.read(message)) return reply;
  scratch.set(reply);
  return Buffer.copyBytesFrom(scratch, 0, decorator.finish(peer(), scratch, reply.length));
}

/** `then` that stays synchronous for a value: most answers need no promise. */
function thenMap<A, B>(value: A | Promise<A>, map: (value: A) => B): B | Promise<B> {
  return value instanceof Promise ? value.then(map) : map(value);
}

// One request over HTTP, from its head to its reply, on whichever port it came.

export interface DohService {
  /** Rate limit: 0 lets a request pass, n answers 429 with `Retry-After: n` (seconds). */
  readonly admit?: ((address: string) => number) | null;
  readonly answer: (request: AskingRequest, address: () => string) => HttpReply | Promise<HttpReply>;
  /** Gets a fault of the server, after which the reply is a 500. */
  readonly onFault: (fault: unknown) => void;
}

/** Never throws. */
export function serveExchange(exchange: Exchange, service: DohService): void {
  attempt(exchange, service, () => {
    const wait = service.admit?.(exchange.address()) ?? 0;
    if (wait > 0) return throttled(wait);
    const request = readRequest(exchange.head);
    if (request.kind === 'error' || request.kind === 'preflight') return answerLocally(request);
    if (request.kind !== 'body') return service.answer(request, exchange.address);
    exchange.readBody((body) => {
      if (body !== 'gone') attempt(exchange, service, () => answerBody(body, exchange, service));
    });
    return null;
  });
}

function answerBody(
  body: Uint8Array | keyof typeof BODY_FAULTS,
  exchange: Exchange,
  { answer }: DohService,
): HttpReply | Promise<HttpReply> {
  if (typeof body === 'string') return errorResponse(BODY_FAULTS[body]);
  return answer({ kind: 'wire', message: body }, exchange.address);
}

/** Replies with the result of `make`, or with a 500 if it fails. Null: no reply yet. */
function attempt(
  exchange: Exchange,
  { onFault }: DohService,
  make: () => HttpReply | Promise<HttpReply> | null,
): void {
  const failed = (fault: unknown): void => {
    onFault(fault);
    exchange.respond(internalError());
  };
  try {
    const response = make();
    if (response instanceof Promise) response.then((late) => exchange.respond(late)).catch(failed);
    else if (response !== null) exchange.respond(response);
  } catch (fault) {
    failed(fault);
  }
}
