/** A request over HTTP and its reply, as HTTP/1.1 and HTTP/2 share them, and which of the four resources it asks for. */

import { LIMITS } from '../../base/limits.ts';

/** The parts of a request's header section that DoH reads. */
export interface RequestHead {
  readonly method: string;
  /** Path and query as sent; '' for CONNECT, which has none. */
  readonly target: string;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
  /** The header section is larger than the limits allow; the reply is a 431. */
  readonly tooLarge: boolean;
}

/** Header fields by lower-case name. */
export type Headers = Readonly<Record<string, string>>;

export interface HttpReply {
  readonly status: number;
  /** Without the fields that every reply has, and without Content-Length. */
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Why a body is incomplete. After 'gone' no reply can reach the client. */
export type BodyFault = 'too-large' | 'too-slow' | 'gone';
export type BodyTaker = (body: Uint8Array | BodyFault) => void;

export interface Exchange {
  /** Valid until the receiving function returns: HTTP/2 then drops it to save memory. */
  readonly head: RequestHead;
  /** Calls `taker` once, now or later, with the whole body or a fault. Call it at most once. */
  readBody(taker: BodyTaker): void;
  /** The peer's IP address, for rate limits and cookies. */
  readonly address: () => string;
  /** Sends the reply, unless the peer is gone or already has one. Never throws. */
  respond(reply: HttpReply): void;
}

/** A longer request target is a 414; a query name needs a tenth of it. */
const TARGET_OCTETS = 8192;
export const DNS_MESSAGE = 'application/dns-message';

const BASE64URL_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Unused bits of the last character, by the length modulo 4; length 1 is invalid. */
const STRAY_BITS: readonly (number | undefined)[] = [0, undefined, 0b1111, 0b11];
const DNS_PARAMETER = 'dns=';
const BASE64URL = /^[A-Za-z0-9_-]*$/;

/** A static error: its body is `{"error": text}`. */
export interface DohError {
  readonly kind: 'error';
  readonly status: number;
  readonly error: string;
  /** Methods for the `Allow` header of a 405. */
  readonly allow?: string;
}

/** What DNS is asked, or the schema. */
export type AskingRequest =
  /** A DNS message, from the target or the body. */
  | { readonly kind: 'wire'; readonly message: Uint8Array }
  | { readonly kind: 'json'; readonly params: URLSearchParams }
  | { readonly kind: 'schema'; readonly query: string | null };

export type ResourceRequest =
  | DohError
  | { readonly kind: 'preflight'; readonly allow: string }
  /** A DNS message is the body. */
  | { readonly kind: 'body' }
  | AskingRequest;

interface Resource {
  readonly allow: string;
  read(params: URLSearchParams): ResourceRequest;
  /** The same for a simple query string; null for others. */
  readonly plain?: (query: string) => ResourceRequest | null;
  readonly post?: (head: RequestHead) => ResourceRequest;
}

const DNS_QUERY_METHODS = 'GET, HEAD, POST, OPTIONS';
const READ_METHODS = 'GET, HEAD, OPTIONS';

const RESOURCES: ReadonlyMap<string, Resource> = new Map<string, Resource>([
  ['/dns-query', { allow: DNS_QUERY_METHODS, read: readDnsQuery, plain: plainDnsQuery, post: postDnsQuery }],
  ['/resolve', { allow: READ_METHODS, read: (params) => ({ kind: 'json', params }) }],
  ['/schema', { allow: READ_METHODS, read: (params) => ({ kind: 'schema', query: params.get('q') }) }],
]);

function failure(status: number, error: string): DohError {
  return { kind: 'error', status, error };
}

/** The resource that a target names, such as `/dns-query`; null: none. */
export function resourceOf(target: string): string | null {
  const path = target.split('?', 1)[0]!;
  return RESOURCES.has(path) ? path : null;
}

/** Of a repeated parameter the first counts. */
export function readRequest(head: RequestHead): ResourceRequest {
  if (head.tooLarge) return failure(431, 'Request header fields too large');
  if (head.method === 'CONNECT') return { ...failure(405, 'Method not allowed'), allow: DNS_QUERY_METHODS };
  if (head.target.length > TARGET_OCTETS) return failure(414, 'URI too long');
  const mark = head.target.indexOf('?');
  const path = mark < 0 ? head.target : head.target.slice(0, mark);
  const resource = RESOURCES.get(path);
  if (resource === undefined) return failure(404, 'Not found');
  if (head.method === 'GET' || head.method === 'HEAD') {
    const query = mark < 0 ? '' : head.target.slice(mark + 1);
    return resource.plain?.(query) ?? resource.read(new URLSearchParams(query));
  }
  if (head.method === 'OPTIONS') return { kind: 'preflight', allow: resource.allow };
  if (head.method === 'POST' && resource.post !== undefined) return resource.post(head);
  return { ...failure(405, 'Method not allowed'), allow: resource.allow };
}

/** The query string of every DNS client: one parameter, nothing escaped. */
function plainDnsQuery(query: string): ResourceRequest | null {
  if (!query.startsWith(DNS_PARAMETER)) return null;
  const message = dnsParamOctets(query.slice(DNS_PARAMETER.length));
  return message === null ? null : { kind: 'wire', message };
}

function readDnsQuery(params: URLSearchParams): ResourceRequest {
  const dns = params.get('dns');
  if (dns === null) {
    if (params.has('name')) return { kind: 'json', params };
    return failure(400, 'Parameter dns or name is required');
  }
  const message = dnsParamOctets(dns);
  return message === null
    ? failure(400, 'Parameter dns is not unpadded base64url')
    : { kind: 'wire', message };
}

function postDnsQuery(head: RequestHead): ResourceRequest {
  const isMessage = head.contentType === DNS_MESSAGE || mediaType(head.contentType) === DNS_MESSAGE;
  if (!isMessage) return failure(415, `Content-Type must be ${DNS_MESSAGE}`);
  if (Number(head.contentLength ?? 0) > LIMITS.dohBody) return BODY_TOO_LARGE;
  return BODY;
}

/** The media type without its parameters, which are ignored (RFC 9110 §8.3.1). */
function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}

const BODY: ResourceRequest = { kind: 'body' };

const BODY_TOO_LARGE: DohError = failure(413, 'Body too large');

/** Replies to an incomplete body. */
export const BODY_FAULTS = {
  'too-large': BODY_TOO_LARGE,
  'too-slow': failure(408, 'Request timeout'),
} as const;

/** Octets of unpadded base64url (RFC 8484 §6); null for padding, another alphabet, a wrong length or stray bits. */
export function dnsParamOctets(text: string): Uint8Array | null {
  const stray = STRAY_BITS[text.length % 4];
  if (stray === undefined || !BASE64URL.test(text)) return null;
  const last = BASE64URL_ALPHABET.indexOf(text.slice(-1));
  return (last & stray) === 0 ? Buffer.from(text, 'base64url') : null;
}
