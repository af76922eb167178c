import { constants } from 'node:crypto';
import type { SecureContextOptions, Server, TLSSocket, TlsOptions } from 'node:tls';
import { LIMITS } from '../../../core/limits.ts';
import type { CertificatePair } from '../../../core/tls.ts';
import type { Listener } from './listener.ts';

export interface TlsListenOptions {
  readonly tls: CertificatePair;
  /** 48 secret octets. Threads that share a port share them too, else a session resumes only on the thread that made it. */
  readonly ticketKeys?: Buffer;
  /** Milliseconds that a peer has for its TLS handshake; the product's when not given. */
  readonly handshakeMs?: number;
}

export interface TlsListener extends Listener {
  /**
   * New connections get the new certificate, open ones keep theirs. Without `ticketKeys` those in use stay; with new ones
   * no session that was begun under the earlier ones resumes.
   *
   * @throws when the key does not fit the certificate or either is no PEM; the old ones then stay in use
   */
  reloadTls(tls: CertificatePair, ticketKeys?: Buffer): void;
}

/**
 * RFC 9325 and RFC 8996: TLS 1.2 at least, without renegotiation, which would let a client have us make a handshake again
 * and again on one connection (RFC 9325 §4.5). What is left of 1.2 is then only the suites with forward secrecy and AEAD.
 */
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

/** The options a TLS server of ours is made with, ALPN excepted. */
export function tlsOptions(options: TlsListenOptions): TlsOptions {
  return { ...secureContext(options), handshakeTimeout: handshakeLimits(options).ms };
}

/** Milliseconds that a peer has for its handshake, at most and while the listener is crowded. */
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

/** Closes connections whose handshake fails or exceeds its time. Node only reports them and leaves them open. */
export function closeFailedHandshakes(server: Server): void {
  server.on('tlsClientError', (_fault: Error, socket: TLSSocket) => socket.destroy());
}

/** See `TlsListener.reloadTls`. */
export function tlsReloader(server: Server, options: TlsListenOptions): TlsListener['reloadTls'] {
  let inUse = options.ticketKeys;
  return (tls, ticketKeys = inUse) => {
    // The context is replaced whole, so it takes the floor and the ticket keys again.
    server.setSecureContext(secureContext({ tls, ...(ticketKeys && { ticketKeys }) }));
    inUse = ticketKeys;
  };
}
