import type { X509Certificate } from 'node:crypto';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { OutboundFault, OutboundRequest, OutboundResult } from '../request.ts';
import { exchangeHeads, requestOctets } from './head-exchange.ts';
import { HEAD_MAX } from './response-head.ts';
import type { TlsSessions } from './tls-sessions.ts';

export interface Pin {
  /** The literal address that was vetted. */
  readonly address: string;
  /** Whom TLS trusts, and its lowest version. Shared by all requests of a door. */
  readonly secureContext: SecureContext;
  /** Where handshakes may be shortened; none: each is a full one. */
  readonly sessions?: TlsSessions | undefined;
  /** Milliseconds until the TCP connection must stand. */
  readonly connectMs: number;
  /** Ends the attempt, whatever it is doing. */
  readonly signal: AbortSignal;
}

/** `wasConnected` tells whether anything may have been sent: if not, another address can be tried. */
export type PinnedResult = { readonly result: OutboundResult; readonly wasConnected: boolean };

/** Interim responses (100, 102, 103) before the one that counts. Each may be as large as a head. */
const INTERIM_MAX = 16;

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
    let socket: Socket | undefined;

    let isSettled = false;
    const settle = (result: OutboundResult): void => {
      if (isSettled) return;
      isSettled = true;
      // Whatever went wrong, the next attempt begins anew.
      if (result.kind === 'failed') pin.sessions?.forget(peerOf(request.url, pin));
      clearTimeout(connectTimer);
      pin.signal.removeEventListener('abort', expire);
      resolve({ result, wasConnected: attempt.connected });
      client?.destroy();
      socket?.destroy();
    };
    const fail = (fault: OutboundFault): void => settle({ kind: 'failed', fault });
    const onlyHead = request.maxBytes === 0 && !attempt.secured;
    const expire = (): void => fail('timeout');

    if (pin.signal.aborted) {
      fail('timeout');
      return;
    }
    pin.signal.addEventListener('abort', expire, { once: true });
    connectTimer = setTimeout(expire, pin.connectMs);
    const createConnection = (): Socket => {
      socket = connectTo(request.url, pin);
      // The request follows the end of the handshake at once, and not the peer's acknowledgement of it.
      socket.setNoDelay(true);
      socket.once('connect', () => {
        attempt.connected = true;
        clearTimeout(connectTimer);
      });
      // Its ticket may come before we are told that the handshake is done, or after.
      let session: Buffer | undefined;
      const keepSession = (): void => {
        const isFull = attempt.secured && !(socket as TLSSocket).isSessionReused();
        if (isFull && session !== undefined) pin.sessions?.keep(peerOf(request.url, pin), session);
      };
      socket.on('session', (ticket: Buffer) => {
        session = ticket;
        keepSession();
      });
      socket.once('secureConnect', () => {
        // Node reports a bad certificate as an error before this; asked again, for it is all that stands between.
        const secured = socket as TLSSocket;
        if (secured.authorized) attempt.secured = true;
        else fail('tls_error');
        keepSession();
      });
      return socket;
    };
    try {
      if (onlyHead) {
        const octets = requestOctets(request);
        const secured = createConnection() as TLSSocket;
        secured.on('error', (error: NodeJS.ErrnoException) => fail(faultOf(error, attempt)));
        secured.on('close', () => fail('connection_failed'));
        secured.once('secureConnect', () => {
          if (attempt.secured)
            exchangeHeads(secured, octets, (met) => (typeof met === 'string' ? fail(met) : settle(met)));
        });
        return;
      }
      client = open(request, createConnection);
    } catch {
      // A header that cannot be sent, or the like.
      fail('connection_failed');
      return;
    }
    let interim = 0;
    client.on('information', () => {
      if (++interim > INTERIM_MAX) fail('connection_failed');
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

/** A session is used only at the address where the certificate was checked. */
function peerOf({ host }: URL, { address }: Pin): string {
  return `${host} ${address}`;
}

/** A connection to the pinned address, TLS included where the URL says so. Nothing of the host's name is looked up. */
function connectTo(url: URL, pin: Pin): Socket {
  const { address, secureContext, sessions } = pin;
  const isPlain = url.protocol === 'http:';
  const target = {
    host: address,
    port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port),
    // One address is dialled at a time, by the door.
    autoSelectFamily: false,
  };
  if (isPlain) return netConnect(target);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const name = isIP(host) === 0 ? host.replace(/\.$/, '') : '';
  const session = sessions?.get(peerOf(url, pin));
  const socket: TLSSocket = tlsConnect({
    ...target,
    secureContext,
    // SNI is for names (RFC 6066 §3); for a literal the certificate is checked against the address that is dialled.
    servername: name,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(session === undefined ? {} : { session }),
    checkServerIdentity: () => identityFault(socket.getPeerX509Certificate(), name, host),
  });
  // What Node would hand to that check: objects made of the whole chain, which takes longer than all else of an attempt.
  Object.defineProperty(socket, 'getPeerCertificate', { value: () => NO_CERTIFICATE });
  return socket;
}

const NO_CERTIFICATE = {};

/** Whether a certificate that is otherwise good is one of this host (RFC 9525 §6): by its alternative names alone. */
function identityFault(
  certificate: X509Certificate | undefined,
  name: string,
  address: string,
): Error | undefined {
  const isItsOwn =
    name === ''
      ? certificate?.checkIP(address)
      : certificate?.checkHost(name, { subject: 'never', partialWildcards: false });
  return isItsOwn === undefined ? new Error('the certificate is of another host') : undefined;
}

/** @throws when a header or the path cannot be sent */
function open(
  { url, method, headers, body }: OutboundRequest,
  createConnection: () => Socket,
): ClientRequest {
  return httpRequest({
    // With a connection of its own and no agent nothing is pooled, and `Connection: close` is sent.
    createConnection,
    path: url.pathname + url.search,
    method,
    maxHeaderSize: HEAD_MAX,
    insecureHTTPParser: false,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
    },
  });
}

function read(response: IncomingMessage, maxBytes: number, settle: (result: OutboundResult) => void): void {
  const { statusCode: status = 0, headers } = response;
  const done = (body: Buffer): void => settle({ kind: 'response', status, headers, body });
  if (status < 200 || status > 599) {
    settle({ kind: 'failed', fault: 'connection_failed' });
    return;
  }
  if (maxBytes === 0) {
    done(Buffer.alloc(0));
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

/** Faults of the connection itself; between connecting and the end of the handshake anything else is TLS's. */
const CONNECTION_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** TLS 1.3 may say no after the handshake, as to a client without a certificate. EPROTO is how a write meets an alert. */
const TLS_CODE = /^(?:ERR_SSL_|EPROTO$)/;

function faultOf({ code = '' }: NodeJS.ErrnoException, attempt: Attempt): OutboundFault {
  const isHandshake = attempt.connected && !attempt.secured && !CONNECTION_CODES.has(code);
  return isHandshake || TLS_CODE.test(code) ? 'tls_error' : 'connection_failed';
}
