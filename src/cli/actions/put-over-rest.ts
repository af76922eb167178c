import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Config } from '../../ops/config/config.ts';
import { isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { inUrl, reachable } from '../address.ts';
import { escapeControls, InputError, UsageError } from '../output.ts';
import { aboutOneItem } from './put-input.ts';

// No import: see src/base/lifecycle/README.md.
const { request: requestHttp } = process.getBuiltinModule('node:http');

const DEADLINE_MS = 30_000;
const API = '/api/v1';

interface StoredRecord {
  readonly id: string;
  readonly key: string;
}

/**
 * Stores one record with a bulk write, as the account of the token.
 * @param address option --api; undefined: the REST port of the configuration
 * @throws InputError with the server's messages, or when the server does not answer
 */
export async function putOverRest(
  body: JsonObject,
  token: string,
  address: string | undefined,
  config: Config,
): Promise<StoredRecord> {
  const base = address === undefined ? configuredApi(config) : givenApi(address);
  const url = new URL(`${base}/records/bulk`);
  const reply = await postJson(url, token, body, DEADLINE_MS).catch((error: unknown) => {
    throw new InputError(noReply(error as NodeJS.ErrnoException, url.origin));
  });
  return storedRecord(reply, url.origin);
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
export function storedRecord({ status, retryAfter, body }: RestReply, origin: string): StoredRecord {
  const told = parsed(body);
  if (status === 200) {
    const [record] = Array.isArray(told?.records) ? (told.records as unknown[]) : [];
    if (isJsonObject(record) && typeof record.id === 'string' && typeof record.key === 'string') {
      return { id: record.id, key: record.key };
    }
  }
  const messages = messagesOf(told);
  if (messages.length === 0 || status === 200) {
    throw new InputError(`${origin} is no REST server of uqrp: it answered with HTTP status ${status}`);
  }
  const text = messages.map((message) => escapeControls(aboutOneItem(message))).join('\n');
  if (status === 401) throw new InputError(`${origin} does not accept UQRP_TOKEN: ${text}`);
  const isWait = status === 429 && retryAfter !== null && /^\d{1,9}$/.test(retryAfter);
  throw new InputError(isWait ? `${text}. Try again in ${retryAfter} s.` : text);
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
function noReply({ code, name, message }: NodeJS.ErrnoException, origin: string): string {
  if (code === 'ECONNREFUSED') return `nothing listens on ${origin}: is the server running?`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the server name of ${origin} has no address`;
  if (name === 'TimeoutError' || name === 'AbortError') {
    return `no reply from ${origin} within ${DEADLINE_MS / 1000} s. The record may be stored: read it.`;
  }
  return `no reply from ${origin}: ${message}`;
}

interface RestReply {
  readonly status: number;
  /** Seconds, as the server wrote them; null without the header. */
  readonly retryAfter: string | null;
  readonly body: string;
}

/** Answers to one write have less than 1 KiB. */
const REPLY_MAX = 65_536;

/**
 * Sends JSON with a credential. It follows no redirect, which could take the credential to another server.
 * @param url http or https
 * @throws Error when no whole reply comes before the deadline; its text holds neither the credential nor the body
 */
function postJson(url: URL, token: string, value: object, deadlineMs: number): Promise<RestReply> {
  return new Promise((resolve, reject) => {
    const body = Buffer.from(JSON.stringify(value));
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const outgoing = request(
      url,
      {
        method: 'POST',
        signal: AbortSignal.timeout(deadlineMs),
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': body.length,
          accept: 'application/json',
        },
      },
      (incoming) => resolve(readReply(incoming)),
    );
    outgoing.once('error', reject);
    outgoing.end(body);
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
    body: Buffer.concat(chunks).toString('utf8'),
  };
}
