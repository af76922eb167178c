import type { X509Certificate } from 'node:crypto';
import { promises as dns } from 'node:dns';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { realTimers } from '../base/lifecycle/timers.ts';
import type { OutboundFault, OutboundRequest, OutboundResult } from './request.ts';

/** Addresses of a host, IPv4 first; empty on any failure. After an abort it resolves with those found. Never rejects. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Milliseconds for one name server, and queries to each. */
const TIMEOUT_MS = 2000;
const TRIES = 1;
/** Milliseconds that a resolver is reused, and idle resolvers kept. */
const RESOLVER_MS = 60_000;
const IDLE_MAX = 64;
/** Never queried on the network (RFC 6761 §6.3). */
const LOCALHOST = /(?:^|\.)localhost$/;

/**
 * Queries A and AAAA. `getaddrinfo` would block a thread of Node's small pool, and apply /etc/hosts and search lists.
 * @param servers literal addresses, with `:port` or `[v6]:port` if it is not 53; empty: those of /etc/resolv.conf
 */
export function makeResolve(servers: readonly string[]): Resolve {
  const take = resolverPool(servers);
  return async (name, signal) => {
    const host = name.replace(/\.$/, '').toLowerCase();
    if (LOCALHOST.test(host)) return ['127.0.0.1', '::1'];
    if (signal.aborted) return [];
    const { resolver, release } = take();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const found = await Promise.all([
        // The dot prevents the use of a search domain.
        resolver.resolve4(`${host}.`).catch(none),
        resolver.resolve6(`${host}.`).catch(none),
      ]);
      return found.flat();
    } finally {
      signal.removeEventListener('abort', cancel);
      if (!signal.aborted) release();
    }
  };
}

interface Taken {
  readonly resolver: dns.Resolver;
  readonly release: () => void;
}

/** Idle resolvers. Each serves one lookup at a time, so `cancel` ends only that one, and each lookup has a new UDP port. */
function resolverPool(servers: readonly string[]): () => Taken {
  const idle: { resolver: dns.Resolver; bornAt: number }[] = [];
  return () => {
    const now = realTimers.elapsed();
    let one = idle.pop();
    if (one === undefined || now - one.bornAt > RESOLVER_MS) {
      const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
      if (servers.length > 0) resolver.setServers(servers);
      one = { resolver, bornAt: now };
    }
    const taken = one;
    return {
      resolver: taken.resolver,
      release: () => {
        if (idle.length < IDLE_MAX) idle.push(taken);
      },
    };
  };
}

function none(): string[] {
  return [];
}

/** TLS sessions to resume (RFC 8446 §2.2), by the host and port of a URL and the address that was dialled. */
export interface TlsSessions {
  get(host: string): Buffer | undefined;
  /** @param session of a connection whose certificate was checked in full */
  keep(host: string, session: Buffer): void;
  forget(host: string): void;
}

/** A certificate is checked in full at least this often, milliseconds. */
const LIFE_MS = 300_000;
const HOSTS_MAX = 1000;

/** Keeps a session for `lifeMs` from its full handshake, however often it is resumed. When full, removes the oldest. */
export function createTlsSessions(lifeMs = LIFE_MS, hostsMax = HOSTS_MAX): TlsSessions {
  const sessions = new Map<string, { readonly session: Buffer; readonly until: number }>();
  return {
    get(host) {
      const kept = sessions.get(host);
      if (kept === undefined) return undefined;
      if (realTimers.elapsed() < kept.until) return kept.session;
      sessions.delete(host);
      return undefined;
    },
    keep(host, session) {
      // Later tickets of the connection do not extend the time.
      if (sessions.has(host)) return;
      if (sessions.size >= hostsMax) {
        for (const oldest of sessions.keys()) {
          sessions.delete(oldest);
          break;
        }
      }
      sessions.set(host, { session, until: realTimers.elapsed() + lifeMs });
    },
    forget(host) {
      sessions.delete(host);
    },
  };
}

interface PinnedTarget {
  readonly address: string;
  /** Trusted authorities and the lowest TLS version. Shared by all requests of a client. */
  readonly secureContext: SecureContext;
  /** Without it every handshake is a full one. */
  readonly sessions?: TlsSessions | undefined;
}

/** Key of a TLS session: it is resumed only at the address where the certificate was checked. */
function sessionKey({ host }: URL, { address }: PinnedTarget): string {
  return `${host} ${address}`;
}

function connectPinned(url: URL, target: PinnedTarget): Socket {
  const { address, secureContext, sessions } = target;
  const isPlain = url.protocol === 'http:';
  const endpoint = {
    host: address,
    port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port),
    // `createOutboundClient` tries the addresses itself.
    autoSelectFamily: false,
  };
  if (isPlain) return netConnect(endpoint);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const name = isIP(host) === 0 ? host.replace(/\.$/, '') : '';
  const session = sessions?.get(sessionKey(url, target));
  const socket: TLSSocket = tlsConnect({
    ...endpoint,
    secureContext,
    // SNI is for names only (RFC 6066 §3). A literal is checked against the address.
    servername: name,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(session === undefined ? {} : { session }),
    checkServerIdentity: () => identityFault(socket.getPeerX509Certificate(), name, host),
  });
  // Avoids objects of the whole chain for `checkServerIdentity`: a third of the CPU of an attempt (ADR 11).
  Object.defineProperty(socket, 'getPeerCertificate', { value: () => NO_CERTIFICATE });
  return socket;
}

const NO_CERTIFICATE = {};

/** Checks that a certificate names this host (RFC 9525 §6): only its subject alternative names count. */
function identityFault(
  certificate: X509Certificate | undefined,
  name: string,
  address: string,
): Error | undefined {
  const match =
    name === ''
      ? certificate?.checkIP(address)
      : certificate?.checkHost(name, { subject: 'never', partialWildcards: false });
  return match === undefined ? new Error('the certificate names another host') : undefined;
}

/** Stores sessions of full handshakes. Tickets may arrive before or after `secureConnect`. @returns call it at that event */
function storeSession(
  url: URL,
  target: PinnedTarget,
  socket: TLSSocket,
  isVerified: () => boolean,
): () => void {
  let session: Buffer | undefined;
  const store = (): void => {
    if (session === undefined || !isVerified() || socket.isSessionReused()) return;
    target.sessions?.keep(sessionKey(url, target), session);
  };
  socket.on('session', (ticket: Buffer) => {
    session = ticket;
    store();
  });
  return store;
}

// No import: see `lifecycle/README.md`.
const { request: httpRequest } = process.getBuiltinModule('node:http');

interface PinnedOptions extends PinnedTarget {
  /** Milliseconds until the TCP connection must be established. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
}

/** `wasConnected` false: nothing was sent, so another address can be tried. */
export type PinnedResult = { readonly result: OutboundResult; readonly wasConnected: boolean };

const HEAD_MAX = 16_384;
/** Interim responses (100, 102, 103) before the final one. Each may be as large as a head. */
const INTERIM_MAX = 16;

/** Progress of a request: decides which fault an error becomes. */
interface Progress {
  connected: boolean;
  /** The certificate has passed, or the URL asks for no TLS. */
  secured: boolean;
}

/** One HTTP/1.1 request to one literal address; `Host`, SNI and certificate check use the URL's host. Never rejects. */
export function pinnedRequest(request: OutboundRequest, options: PinnedOptions): Promise<PinnedResult> {
  return new Promise((resolve) => {
    const { url } = request;
    const progress: Progress = { connected: false, secured: url.protocol === 'http:' };
    let connectTimer: NodeJS.Timeout | undefined;
    let client: ClientRequest | undefined;
    let socket: Socket | undefined;

    let isSettled = false;
    const settle = (result: OutboundResult): void => {
      if (isSettled) return;
      isSettled = true;
      // After any fault the next handshake is a full one.
      if (result.kind === 'failed') options.sessions?.forget(sessionKey(url, options));
      clearTimeout(connectTimer);
      options.signal.removeEventListener('abort', expire);
      resolve({ result, wasConnected: progress.connected });
      client?.destroy();
      socket?.destroy();
    };
    const fail = (fault: OutboundFault): void => settle({ kind: 'failed', fault });
    const expire = (): void => fail('timeout');

    if (options.signal.aborted) {
      fail('timeout');
      return;
    }
    options.signal.addEventListener('abort', expire, { once: true });
    connectTimer = setTimeout(expire, options.connectMs);
    const send = (): void => void client?.end(request.body);
    const createConnection = (): Socket => {
      socket = connectPinned(url, options);
      // Else Nagle's algorithm delays the request until the peer acknowledges the handshake.
      socket.setNoDelay(true);
      socket.once('connect', () => {
        progress.connected = true;
        clearTimeout(connectTimer);
      });
      if (progress.secured) return socket;
      const secure = socket as TLSSocket;
      const storeTicket = storeSession(url, options, secure, () => progress.secured);
      secure.once('secureConnect', () => {
        // A second check: Node reports a bad certificate as an error instead of this event.
        if (!secure.authorized) {
          fail('tls_error');
          return;
        }
        progress.secured = true;
        storeTicket();
        send();
      });
      return socket;
    };
    try {
      client = openRequest(request, createConnection);
    } catch {
      // A header or a path that HTTP cannot carry.
      fail('connection_failed');
      return;
    }
    let interim = 0;
    client.on('information', () => {
      if (++interim > INTERIM_MAX) fail('connection_failed');
    });
    client.on('error', (error: NodeJS.ErrnoException) => fail(faultOf(error, progress)));
    client.on('close', () => fail('connection_failed'));
    client.on('response', (response) => {
      if (progress.secured) readResponse(response, request.maxBytes, settle);
      else fail('tls_error');
    });
    if (progress.secured) send();
  });
}

function openRequest(
  { url, method, headers, body }: OutboundRequest,
  createConnection: () => Socket,
): ClientRequest {
  return httpRequest({
    // Without an agent nothing is pooled, and `Connection: close` is sent.
    createConnection,
    path: url.pathname + url.search,
    method,
    maxHeaderSize: HEAD_MAX,
    insecureHTTPParser: false,
    headers: {
      Host: url.host,
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [usualName(name), value])),
      ...(body === undefined ? {} : { 'Content-Length': String(body.length) }),
      'Accept-Encoding': 'identity',
    },
  });
}

const USUAL_NAMES_MAX = 64;
const usualNames = new Map<string, string>();

/** `X-Service-Event` for `x-service-event`: some receivers compare header names case-sensitively. */
function usualName(name: string): string {
  let usual = usualNames.get(name);
  if (usual === undefined) {
    usual = name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
    if (usualNames.size < USUAL_NAMES_MAX) usualNames.set(name, usual);
  }
  return usual;
}

function readResponse(
  response: IncomingMessage,
  maxBytes: number,
  settle: (result: OutboundResult) => void,
): void {
  const { statusCode: status = 0, headers } = response;
  const done = (body: Buffer): void => settle({ kind: 'response', status, headers, body });
  if (status < 200 || status > 599) {
    settle({ kind: 'failed', fault: 'connection_failed' });
    return;
  }
  if (maxBytes === 0) {
    done(NO_BODY);
    return;
  }
  if (Number(headers['content-length']) > maxBytes) {
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

const NO_BODY = Buffer.alloc(0);

/** Faults of the connection. During the handshake every other code is a fault of TLS. */
const CONNECTION_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** TLS 1.3 may report a fault after the handshake (missing client certificate). A write after an alert gets EPROTO. */
const TLS_CODE = /^(?:ERR_SSL_|EPROTO$)/;

function faultOf({ code = '' }: NodeJS.ErrnoException, progress: Progress): OutboundFault {
  const isHandshake = progress.connected && !progress.secured && !CONNECTION_CODES.has(code);
  return isHandshake || TLS_CODE.test(code) ? 'tls_error' : 'connection_failed';
}
