/** The SDK's client for commands: with the credential of the environment, and with errors as an operator reads them. */
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import {
  ApiError,
  BulkError,
  ConnectionError,
  type RecordResource,
  TimeoutError,
  Uqrp,
  UqrpError,
} from '../../sdk/src/uqrp-sdk.ts';
import { InputError, UsageError } from '../base/errors.ts';
import type { Config } from '../ops/config/config.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { aboutOneItem } from './actions/put-input.ts';
import { inUrl, reachable } from './address.ts';
import { escapeControls } from './output.ts';

// No import: see src/base/lifecycle/README.md.
const { request: requestHttp } = process.getBuiltinModule('node:http');

const DEADLINE_MS = 30_000;

/** The REST API with one credential. */
export interface Rest {
  /** Of the server, for messages. */
  readonly origin: string;
  readonly api: Uqrp;
  /** Calls the API. @throws InputError when the server refuses or does not answer; its text holds neither the credential nor a body */
  read<T>(run: (api: Uqrp) => Promise<T>): Promise<T>;
  /** As `read`. The text says of a write without an answer that it may have been done. */
  write<T>(run: (api: Uqrp) => Promise<T>): Promise<T>;
}

/**
 * A client of the API with the token of the environment. A call that fails is not repeated: the operator sees why.
 * @param address option --api; undefined: the REST port of the configuration
 * @throws UsageError without UQRP_TOKEN, or for an address that is none
 */
export function openRest(address: string | undefined, config: Config, token = tokenOfEnvironment()): Rest {
  const base = address ?? configuredAddress(config);
  const api = clientAt(base, token);
  const { origin } = new URL(base);
  const told = async <T>(run: (api: Uqrp) => Promise<T>, doubt: string): Promise<T> => {
    try {
      return await run(api);
    } catch (error) {
      throw commandFault(error, origin, doubt);
    }
  };
  return {
    origin,
    api,
    read: (run) => told(run, ''),
    write: (run) => told(run, ' The write may have been done: read the record.'),
  };
}

/** Records of a page: 500 with the longest payloads have 2 MB. */
const PAGE = 500;

/** Every record of a namespace. @throws InputError when there is no such namespace: one that is mistyped has no records either */
export async function recordsOfNamespace(
  rest: Rest,
  namespace: string,
  resource?: string,
): Promise<readonly RecordResource[]> {
  const rows = await rest.read((api) => api.records.list({ namespace, resource }, { limit: PAGE }).toArray());
  if (rows.length === 0 && (await rest.read((api) => api.namespaces.find(namespace))) === null)
    throw new InputError(`UQRP_TOKEN reaches no namespace ${escapeControls(namespace)}`);
  return rows;
}

/** The payload of a record that was listed. @throws InputError for a credential that may not read */
export function payloadOfRow({ data }: RecordResource, { origin }: Rest): Buffer {
  if (data === undefined)
    throw new InputError(`UQRP_TOKEN is not allowed to read: ${origin} gave records without data`);
  return Buffer.from(data, 'base64');
}

function tokenOfEnvironment(): string {
  const token = readEnvironment().UQRP_TOKEN ?? '';
  if (token === '')
    throw new UsageError('set UQRP_TOKEN to an API key, or to what uqrp user token EMAIL prints');
  return token;
}

function configuredAddress({ httpHost, httpPort }: Config): string {
  if (httpPort === 0) {
    throw new UsageError('UQRP_HTTP_PORT is 0, which names no port. Set it, or give --api URL.');
  }
  return `http://${inUrl(reachable(httpHost))}:${httpPort}`;
}

function clientAt(baseUrl: string, token: string): Uqrp {
  try {
    return new Uqrp({
      baseUrl,
      token,
      fetch: fetchOverHttp,
      timeout: DEADLINE_MS,
      retries: 0,
      userAgent: 'uqrp',
    });
  } catch {
    // Of the token the environment was checked.
    throw new UsageError('--api takes an http or https URL, such as https://uqrp.example.com');
  }
}

/** Whether the server is away: the same call may succeed later. */
export function isAway(error: unknown): error is UqrpError {
  return error instanceof UqrpError && error.isPassing;
}

/** What a failure of the SDK says to an operator; any other error as it is. @param doubt what is said of a call without an answer */
export function commandFault(error: unknown, origin: string, doubt = ''): unknown {
  if (error instanceof BulkError) return commandFault(error.reason, origin, doubt);
  if (error instanceof ApiError) return refusalOf(error, origin, doubt);
  if (error instanceof TimeoutError) {
    return new InputError(`no reply from ${origin} within ${error.milliseconds / 1000} s.${doubt}`);
  }
  if (error instanceof ConnectionError) return new InputError(noReply(error, origin, doubt));
  // The SDK takes the shape of an answer for granted.
  const isOfShape = error instanceof UqrpError || error instanceof TypeError;
  return isOfShape ? new InputError(`${origin} is no REST server of uqrp`) : error;
}

function noReply({ reason }: ConnectionError, origin: string, doubt: string): string {
  if (reason === 'ECONNREFUSED') return `nothing listens on ${origin}: is the server running?`;
  if (reason === 'ENOTFOUND' || reason === 'EAI_AGAIN') return `the server name of ${origin} has no address`;
  return withDoubt(`no reply from ${origin}: ${reason ?? 'the answer broke off'}`, doubt);
}

function withDoubt(text: string, doubt: string): string {
  return doubt === '' ? text : `${text}.${doubt}`;
}

/** What the server refused, in its words. */
function refusalOf(
  { status, code, messages, retryAfter }: ApiError,
  origin: string,
  doubt: string,
): InputError {
  if (code === 'unknown') {
    const text = `${origin} is no REST server of uqrp: it answered with HTTP status ${status}`;
    // A proxy says so of an answer that it waited for in vain.
    return new InputError(status >= 500 ? withDoubt(text, doubt) : text);
  }
  const text = messages.map((message) => escapeControls(aboutOneItem(message))).join('\n');
  if (status === 401) return new InputError(`${origin} does not accept UQRP_TOKEN: ${text}`);
  const isWait = status === 429 && retryAfter !== null;
  return new InputError(isWait ? `${text}. Try again in ${retryAfter} s.` : text);
}

/** A page of a list has less. */
const REPLY_MAX = 4_194_304;

/** In place of the runtime's `fetch`, which refuses ports that a server may have, such as 6000 and 10080, and reads answers of any length. */
function fetchOverHttp(url: string, { method, headers, body, signal }: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? requestHttps : requestHttp;
    const outgoing = send(
      url,
      { method: method!, headers: headers as Record<string, string>, signal: signal! },
      (incoming) => void readReply(incoming).then(resolve, reject),
    );
    outgoing.once('error', reject);
    outgoing.end(body as string | undefined);
  });
}

async function readReply(incoming: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let octets = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    octets += chunk.length;
    if (octets > REPLY_MAX) throw Object.assign(new Error(), { code: 'REPLY_TOO_LONG' });
    chunks.push(chunk);
  }
  const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Response(octets === 0 ? null : Buffer.concat(chunks), { status: incoming.statusCode!, headers });
}
