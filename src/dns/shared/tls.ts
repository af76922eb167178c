import { constants } from 'node:crypto';
import type { SecureContextOptions, Server, TLSSocket, TlsOptions } from 'node:tls';
import { LIMITS } from '../../base/limits.ts';
import type { CertificatePair } from '../../base/network/tls.ts';
import type { Listener } from './listener.ts';

export interface TlsListenOptions {
  readonly tls: CertificatePair;
  /** 48 secret octets. Threads that share a port share them, so a session resumes on any of them. */
  readonly ticketKeys?: Buffer;
  /** Milliseconds for a TLS handshake. */
  readonly handshakeMs?: number;
}

export interface TlsListener extends Listener {
  /**
   * Replaces the certificate for new connections. Without `ticketKeys` those in use stay; new ones end session resumption.
   * @throws for an invalid PEM, or a key that does not fit; the old pair stays in use
   */
  reloadTls(tls: CertificatePair, ticketKeys?: Buffer): void;
}

/** RFC 9325: TLS 1.2 or later. Renegotiation is refused: it would allow many handshakes on one connection (§4.5). */
const FLOOR = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
} as const satisfies SecureContextOptions;

export function tlsOptions(options: TlsListenOptions): TlsOptions {
  return { ...secureContext(options), handshakeTimeout: handshakeLimits(options).ms };
}

/** Milliseconds for a handshake: at most, and while the listener is crowded. */
export interface HandshakeLimits {
  readonly ms: number;
  readonly crowdedMs: number;
}

export function handshakeLimits({
  handshakeMs: ms = LIMITS.tlsHandshakeMs,
}: TlsListenOptions): HandshakeLimits {
  return { ms, crowdedMs: Math.min(ms, LIMITS.tlsHandshakeCrowdedMs) };
}

function secureContext({ tls, ticketKeys }: TlsListenOptions): SecureContextOptions & TlsOptions {
  return { ...FLOOR, cert: tls.cert, key: tls.key, ...(ticketKeys && { ticketKeys }) };
}

/** Closes connections whose handshake fails or times out. Node only reports them. */
export function closeFailedHandshakes(server: Server): void {
  server.on('tlsClientError', (_fault: Error, socket: TLSSocket) => socket.destroy());
}

export function tlsReloader(server: Server, options: TlsListenOptions): TlsListener['reloadTls'] {
  let inUse = options.ticketKeys;
  return (tls, ticketKeys = inUse) => {
    // `setSecureContext` replaces the whole context: repeat the minimum version and the ticket keys.
    server.setSecureContext(secureContext({ tls, ...(ticketKeys && { ticketKeys }) }));
    inUse = ticketKeys;
  };
}
