import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { InputError, UsageError } from '../base/errors.ts';
import type { Config } from '../ops/config/config.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { isJsonObject, type JsonObject } from '../protocol/input/fields.ts';
import { aboutOneItem } from './actions/put-input.ts';
import { inUrl, reachable } from './address.ts';
import { escapeControls } from './output.ts';

// No import: see src/base/lifecycle/README.md.
const { request: requestHttp } = process.getBuiltinModule('node:http');

const DEADLINE_MS = 30_000;
const API = '/api/v1';

/** The REST API with one credential. */
export interface RestClient {
  /** Of the server, for messages. */
  readonly origin: string;
  /**
   * @param path below the API, with its query
   * @throws InputError when the server does not answer; its text holds neither the credential nor the body
   */
  send(method: string, path: string, options?: SendOptions): Promise<RestReply>;
}

interface SendOptions {
  readonly body?: object;
  /** Milliseconds for the whole reply. */
  readonly deadlineMs?: number;
}

/**
 * A client of the API with the token of the environment.
 * @param address option --api; undefined: the REST port of the configuration
 * @throws UsageError without UQRP_TOKEN
 */
export function openRest(
  address: string | undefined,
  config: Config,
  token = tokenOfEnvironment(),
): RestClient {
  const base = address === undefined ? configuredApi(config) : givenApi(address);
  const { origin } = new URL(base);
  return {
    origin,
    send: (method, path, { body, deadlineMs = DEADLINE_MS } = {}) =>
      request(new URL(`${base}${path}`), { method, token, body, deadlineMs }).catch((error: unknown) => {
        throw new InputError(noReply(error as NodeJS.ErrnoException, origin, deadlineMs, method));
      }),
  };
}

function tokenOfEnvironment(): string {
  const token = readEnvironment().UQRP_TOKEN ?? '';
  if (token === '') throw new UsageError('set UQRP_TOKEN to an API key or a session token');
  return token;
}

interface StoredRecord {
  readonly id: string;
  readonly key: string;
}

/**
 * Stores one record with a bulk write, as the account of the token.
 * @returns the record, and the place of the write
 * @throws InputError with the server's messages
 */
export async function putOverRest(
  rest: RestClient,
  body: JsonObject,
): Promise<{ readonly record: StoredRecord; readonly seq: string | null }> {
  const reply = await rest.send('POST', '/records/bulk', { body });
  return { record: storedRecord(reply, rest.origin), seq: reply.seq ?? null };
}

/** Where a write is, as `GET /propagation` tells. */
export interface NodeHas {
  readonly name: string;
  readonly applied: boolean;
  readonly ms: number | null;
  readonly late: boolean;
}

/** Waits until the nodes have a write. @param seq its place in the feed; null: the server did not tell. @throws InputError */
export async function untilOnNodes(
  rest: RestClient,
  seq: string | null,
  seconds: number,
): Promise<readonly NodeHas[]> {
  if (seq === null) throw new InputError(`${rest.origin} does not tell where a write is`);
  const path = `/propagation?seq=${encodeURIComponent(seq)}&wait=${seconds}`;
  const reply = await rest.send('GET', path, { deadlineMs: seconds * 1000 + DEADLINE_MS });
  const { nodes } = acceptedBody(reply, rest.origin);
  return Array.isArray(nodes) ? (nodes as NodeHas[]) : [];
}

function configuredApi({ httpHost, httpPort }: Config): string {
  if (httpPort === 0) {
    throw new UsageError('UQRP_HTTP_PORT is 0, which names no port. Set it, or give --api URL.');
  }
  return `http://${inUrl(reachable(httpHost))}:${httpPort}${API}`;
}

/** An origin means its API; a path is taken as it is. @throws UsageError */
export function givenApi(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '';
  if (!isPlain || !/^https?:$/.test(url.protocol) || url.hash !== '') {
    throw new UsageError('--api takes an http or https URL, such as https://uqrp.example.com');
  }
  return url.pathname === '/' ? `${url.origin}${API}` : `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** The record that the reply names. @throws InputError for any other reply */
export function storedRecord(reply: RestReply, origin: string): StoredRecord {
  const told = parsed(reply.body);
  if (reply.status === 200) {
    const [record] = Array.isArray(told?.records) ? (told.records as unknown[]) : [];
    if (isJsonObject(record) && typeof record.id === 'string' && typeof record.key === 'string') {
      return { id: record.id, key: record.key };
    }
  }
  throw refusalOf(reply, origin);
}

/** The object of a reply with status 200 or 201. @throws InputError for any other reply */
export function acceptedBody(reply: RestReply, origin: string): JsonObject {
  const told = parsed(reply.body);
  if ((reply.status !== 200 && reply.status !== 201) || told === null || messagesOf(told).length > 0) {
    throw refusalOf(reply, origin);
  }
  return told;
}

/** The list of a reply with status 200. @throws InputError for any other reply */
export function acceptedList(reply: RestReply, origin: string): readonly JsonObject[] {
  if (reply.status === 200) {
    const list = parsedList(reply.body);
    if (list !== null) return list;
  }
  throw refusalOf(reply, origin);
}

function parsedList(body: string): readonly JsonObject[] | null {
  try {
    const value: unknown = JSON.parse(body);
    return Array.isArray(value) && value.every(isJsonObject) ? value : null;
  } catch {
    return null;
  }
}

/** What the server refused, in its words. */
export function refusalOf({ status, retryAfter, body }: RestReply, origin: string): InputError {
  const messages = messagesOf(parsed(body));
  if (messages.length === 0 || status === 200) {
    return new InputError(`${origin} is no REST server of uqrp: it answered with HTTP status ${status}`);
  }
  const text = messages.map((message) => escapeControls(aboutOneItem(message))).join('\n');
  if (status === 401) return new InputError(`${origin} does not accept UQRP_TOKEN: ${text}`);
  const isWait = status === 429 && retryAfter !== null && /^\d{1,9}$/.test(retryAfter);
  return new InputError(isWait ? `${text}. Try again in ${retryAfter} s.` : text);
}

/** `{"error": "..."}` or `{"errors": ["..."]}`. */
function messagesOf(told: JsonObject | null): readonly string[] {
  const { error, errors } = told ?? {};
  if (typeof error === 'string') return [error];
  return Array.isArray(errors) ? errors.filter((message) => typeof message === 'string') : [];
}

function parsed(body: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(body);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Names the server that did not answer, and what to check. */
function noReply(
  { code, name, message }: NodeJS.ErrnoException,
  origin: string,
  deadlineMs: number,
  method: string,
): string {
  if (code === 'ECONNREFUSED') return `nothing listens on ${origin}: is the server running?`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the server name of ${origin} has no address`;
  if (name === 'TimeoutError' || name === 'AbortError') {
    const doubt = method === 'GET' ? '' : ' The record may be stored: read it.';
    return `no reply from ${origin} within ${deadlineMs / 1000} s.${doubt}`;
  }
  return `no reply from ${origin}: ${message}`;
}

export interface RestReply {
  readonly status: number;
  /** Of a page: the cursor of the next one. */
  readonly next?: string | null;
  /** Of a write: its place, for `GET /propagation`. */
  readonly seq?: string | null;
  /** Seconds, as the server wrote them; null without the header. */
  readonly retryAfter: string | null;
  readonly body: string;
}

/** A page of a list has less. */
const REPLY_MAX = 4_194_304;

interface RequestParts {
  readonly method: string;
  readonly token: string;
  readonly body: object | undefined;
  readonly deadlineMs: number;
}

/**
 * Sends a request with a credential. It follows no redirect, which could take the credential to another server.
 * @throws Error when no whole reply comes before the deadline; its text holds neither the credential nor the body
 */
function request(url: URL, { method, token, body, deadlineMs }: RequestParts): Promise<RestReply> {
  return new Promise((resolve, reject) => {
    const octets = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const outgoing = send(
      url,
      {
        method,
        signal: AbortSignal.timeout(deadlineMs),
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(octets !== null && { 'content-type': 'application/json', 'content-length': octets.length }),
        },
      },
      (incoming) => resolve(readReply(incoming)),
    );
    outgoing.once('error', reject);
    outgoing.end(octets ?? undefined);
  });
}

async function readReply(incoming: IncomingMessage): Promise<RestReply> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REPLY_MAX) throw new Error(`the reply has more than ${REPLY_MAX} octets`);
    chunks.push(chunk);
  }
  return {
    status: incoming.statusCode ?? 0,
    retryAfter: incoming.headers['retry-after'] ?? null,
    next: nextCursor([incoming.headers.link].flat()[0] ?? ''),
    seq: [incoming.headers['x-service-seq']].flat()[0] ?? null,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

/** The cursor in `Link: <...>; rel="next"`. The rest of the URL is not used: it could lead the credential to another server. */
function nextCursor(link: string): string | null {
  const target = /<([^>]*)>;\s*rel="next"/.exec(link)?.[1];
  return target !== undefined && URL.canParse(target) ? new URL(target).searchParams.get('cursor') : null;
}
