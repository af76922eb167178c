/** Which of the four resources an HTTP request asks for, and how. Pure: nothing is read or answered here. */

import { LIMITS } from '../../core/limits.ts';

/** A request target longer than this is a 414; a query name needs a tenth of it. */
export const TARGET_OCTETS = 8192;
export const DNS_MESSAGE = 'application/dns-message';

const BASE64URL = /^[A-Za-z0-9_-]*$/;

/** An HTTP request up to its body, from either version of the protocol. */
export interface DohRequestHead {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
}

/** A static error: its body is `{"error": text}`. */
export interface DohError {
  readonly kind: 'error';
  readonly status: number;
  readonly error: string;
  /** Methods for the `Allow` header of a 405. */
  readonly allow?: string;
}

export type DohPlan =
  | DohError
  | { readonly kind: 'preflight'; readonly allow: string }
  /** A DNS message from the target. */
  | { readonly kind: 'wire'; readonly message: Uint8Array }
  /** A DNS message is the body. */
  | { readonly kind: 'body' }
  | { readonly kind: 'json'; readonly params: URLSearchParams }
  | { readonly kind: 'schema'; readonly query: string | null };

interface Resource {
  readonly allow: string;
  read(params: URLSearchParams): DohPlan;
  readonly post?: (head: DohRequestHead) => DohPlan;
}

const READ_METHODS = 'GET, HEAD, OPTIONS';

const RESOURCES: ReadonlyMap<string, Resource> = new Map<string, Resource>([
  ['/dns-query', { allow: 'GET, HEAD, POST, OPTIONS', read: readDnsQuery, post: postDnsQuery }],
  ['/resolve', { allow: READ_METHODS, read: (params) => ({ kind: 'json', params }) }],
  ['/schema', { allow: READ_METHODS, read: (params) => ({ kind: 'schema', query: params.get('q') }) }],
]);

function failure(status: number, error: string): DohError {
  return { kind: 'error', status, error };
}

/** What to do with a request. Of a repeated parameter the first counts. */
export function planRequest(head: DohRequestHead): DohPlan {
  if (head.target.length > TARGET_OCTETS) return failure(414, 'URI too long');
  const mark = head.target.indexOf('?');
  const path = mark < 0 ? head.target : head.target.slice(0, mark);
  const resource = RESOURCES.get(path);
  if (resource === undefined) return failure(404, 'Not found');
  if (head.method === 'GET' || head.method === 'HEAD') {
    return resource.read(new URLSearchParams(mark < 0 ? '' : head.target.slice(mark + 1)));
  }
  if (head.method === 'OPTIONS') return { kind: 'preflight', allow: resource.allow };
  if (head.method === 'POST' && resource.post !== undefined) return resource.post(head);
  return { ...failure(405, 'Method not allowed'), allow: resource.allow };
}

function readDnsQuery(params: URLSearchParams): DohPlan {
  const dns = params.get('dns');
  if (dns === null) {
    if (params.has('name')) return { kind: 'json', params };
    return failure(400, 'Parameter dns or name is required');
  }
  const message = decodeBase64Url(dns);
  return message === null
    ? failure(400, 'Parameter dns is not unpadded base64url')
    : { kind: 'wire', message };
}

function postDnsQuery(head: DohRequestHead): DohPlan {
  // Parameters of the media type have no meaning here and are let pass (RFC 9110 §8.3.1).
  const mediaType = head.contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== DNS_MESSAGE) return failure(415, `Content-Type must be ${DNS_MESSAGE}`);
  if (Number(head.contentLength ?? 0) > LIMITS.dohBody) return BODY_TOO_LARGE;
  return { kind: 'body' };
}

export const BODY_TOO_LARGE: DohError = failure(413, 'Body too large');

/**
 * Octets of unpadded base64url (RFC 8484 §6), or null for padding, another alphabet, a length that no octets have, or
 * bits set beyond the last octet.
 */
export function decodeBase64Url(text: string): Uint8Array | null {
  if (!BASE64URL.test(text) || text.length % 4 === 1) return null;
  const octets = Buffer.from(text, 'base64url');
  return octets.toString('base64url') === text ? octets : null;
}
