import type { X509Certificate } from 'node:crypto';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { TlsSessions } from './tls-sessions.ts';

/** What a connection is pinned to, and how its TLS is checked. */
export interface PinnedTarget {
  /** A literal address that the policy admits. */
  readonly address: string;
  /** Trusted authorities and the lowest TLS version. Shared by all requests of a client. */
  readonly secureContext: SecureContext;
  /** Sessions to resume; none: every handshake is a full one. */
  readonly sessions?: TlsSessions | undefined;
}

/** Key of a TLS session: it is resumed only at the address where the certificate was checked. */
export function sessionKey({ host }: URL, { address }: PinnedTarget): string {
  return `${host} ${address}`;
}

/** Connects to the pinned address, with TLS where the URL says so. The URL's host is not resolved. */
export function connectPinned(url: URL, target: PinnedTarget): Socket {
  const { address, secureContext, sessions } = target;
  const isPlain = url.protocol === 'http:';
  const endpoint = {
    host: address,
    port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port),
    // The outbound client tries one address after the other.
    autoSelectFamily: false,
  };
  if (isPlain) return netConnect(endpoint);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const name = isIP(host) === 0 ? host.replace(/\.$/, '') : '';
  const session = sessions?.get(sessionKey(url, target));
  const socket: TLSSocket = tlsConnect({
    ...endpoint,
    secureContext,
    // SNI is for names (RFC 6066 §3); for a literal the certificate is checked against the address that is dialled.
    servername: name,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(session === undefined ? {} : { session }),
    checkServerIdentity: () => identityFault(socket.getPeerX509Certificate(), name, host),
  });
  // Node would build objects of the whole chain for `checkServerIdentity`, which costs a third of an attempt (ADR 0007).
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

/**
 * Stores the session of a handshake in which the certificate was checked in full. The ticket may arrive before or after the
 * handshake is reported.
 *
 * @param isVerified whether the certificate has passed
 * @returns call it when the handshake is reported
 */
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
