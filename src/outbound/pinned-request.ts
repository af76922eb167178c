import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';

/** Why there is no response. A closed set: nothing of the peer's own words leaves this folder by an error. */
export const OUTBOUND_FAULTS = [
  'timeout',
  'dns_failure',
  'connection_failed',
  'tls_error',
  'blocked_address',
  'too_large',
] as const;
export type OutboundFault = (typeof OUTBOUND_FAULTS)[number];

export interface OutboundResponse {
  readonly kind: 'response';
  /** 200 to 599; a redirect is a response like any other. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Empty where only the head was wanted. */
  readonly body: Buffer;
}

export interface OutboundFailure {
  readonly kind: 'failed';
  readonly fault: OutboundFault;
}

export type OutboundResult = OutboundResponse | OutboundFailure;

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Names in lower case. `host` and `content-length` are made here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Octets of the body that are read at most; more is `too_large`. 0: the head is all, and the socket closes after it. */
  readonly maxBytes: number;
}

export interface Pin {
  /** The literal address that was vetted. */
  readonly address: string;
  /** Certificates trusted in place of the system's. */
  readonly ca?: string | undefined;
  /** Milliseconds until the TCP connection must stand. */
  readonly connectMs: number;
  /** Ends the attempt, whatever it is doing. */
  readonly signal: AbortSignal;
}

/** `wasConnected` tells whether anything may have been sent: if not, another address can be tried. */
export type PinnedResult = { readonly result: OutboundResult; readonly wasConnected: boolean };

/** An attempt under way: what is known of it decides how its end is called. */
interface Attempt {
  connected: boolean;
  secured: boolean;
}

/**
 * One request over a connection of its own to one literal address, the URL's host in `Host`, SNI and the certificate's check.
 * HTTP/1.1; no redirect is followed, no proxy used, no socket kept. Never rejects.
 */
export function pinnedRequest(request: OutboundRequest, pin: Pin): Promise<PinnedResult> {
  return new Promise((resolve) => {
    const attempt: Attempt = { connected: false, secured: request.url.protocol === 'http:' };
    let connectTimer: NodeJS.Timeout | undefined;
    let client: ClientRequest | undefined;

    const settle = (result: OutboundResult): void => {
      clearTimeout(connectTimer);
      pin.signal.removeEventListener('abort', expire);
      resolve({ result, wasConnected: attempt.connected });
      client?.destroy();
    };
    const fail = (fault: OutboundFault): void => settle({ kind: 'failed', fault });
    const expire = (): void => fail('timeout');

    if (pin.signal.aborted) {
      fail('timeout');
      return;
    }
    pin.signal.addEventListener('abort', expire, { once: true });
    connectTimer = setTimeout(expire, pin.connectMs);
    try {
      client = open(request, pin);
    } catch {
      // A header that cannot be sent, or the like.
      fail('connection_failed');
      return;
    }
    client.on('socket', (socket) => {
      socket.once('connect', () => {
        attempt.connected = true;
        clearTimeout(connectTimer);
      });
      socket.once('secureConnect', () => {
        // Node reports a bad certificate as an error before this; asked again, for it is all that stands between.
        if ((socket as TLSSocket).authorized) attempt.secured = true;
        else fail('tls_error');
      });
    });
    client.on('error', (error: NodeJS.ErrnoException) => fail(faultOf(error, attempt)));
    // The last word, when nothing else was said: a connection that ends without a response.
    client.on('close', () => fail('connection_failed'));
    client.on('response', (response) => {
      if (attempt.secured) read(response, request.maxBytes, settle);
      else fail('tls_error');
    });
    client.end(request.body);
  });
}

function open(request: OutboundRequest, { address, ca }: Pin): ClientRequest {
  const { url, method, headers, body } = request;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const common = {
    host: address,
    port: url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port),
    path: url.pathname + url.search,
    method,
    // An agent of its own: one connection, closed after use.
    agent: false,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
    },
  } satisfies RequestOptions;
  if (url.protocol === 'http:') return httpRequest(common);
  const secure = {
    ...common,
    // SNI is for names (RFC 6066 §3); for a literal the certificate is checked against the address that is dialled.
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  } satisfies RequestOptions & ConnectionOptions;
  return httpsRequest(secure);
}

function read(response: IncomingMessage, maxBytes: number, settle: (result: OutboundResult) => void): void {
  const done = (body: Buffer): void =>
    settle({ kind: 'response', status: response.statusCode ?? 0, headers: response.headers, body });
  if (maxBytes === 0) {
    done(Buffer.alloc(0));
    return;
  }
  if (Number(response.headers['content-length']) > maxBytes) {
    settle({ kind: 'failed', fault: 'too_large' });
    return;
  }
  const chunks: Buffer[] = [];
  let octets = 0;
  response.on('data', (chunk: Buffer) => {
    octets += chunk.length;
    if (octets > maxBytes) settle({ kind: 'failed', fault: 'too_large' });
    else chunks.push(chunk);
  });
  response.on('error', () => settle({ kind: 'failed', fault: 'connection_failed' }));
  response.on('end', () => done(Buffer.concat(chunks)));
}

/** Faults of the connection itself; between connecting and the end of the handshake anything else is TLS's. */
const CONNECTION_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

function faultOf(error: NodeJS.ErrnoException, attempt: Attempt): OutboundFault {
  const isTls = attempt.connected && !attempt.secured && !CONNECTION_CODES.has(error.code ?? '');
  return isTls ? 'tls_error' : 'connection_failed';
}
