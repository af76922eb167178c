import type { X509Certificate } from 'node:crypto';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { TlsSessions } from './tls-sessions.ts';

export interface PinnedTarget {
  readonly address: string;
  /** Trusted authorities and the lowest TLS version. Shared by all requests of a client. */
  readonly secureContext: SecureContext;
  /** Without it every handshake is a full one. */
  readonly sessions?: TlsSessions | undefined;
}

/** Key of a TLS session: it is resumed only at the address where the certificate was checked. */
export function sessionKey({ host }: URL, { address }: PinnedTarget): string {
  return `${host} ${address}`;
}

export function connectPinned(url: URL, target: PinnedTarget): Socket {
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
  // Avoids objects of the whole chain for `checkServerIdentity`: a third of the CPU of an attempt (ADR 0007).
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
export function storeSession(
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
