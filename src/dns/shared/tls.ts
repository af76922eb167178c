import { constants } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket, TlsOptions, Server as TlsServer } from 'node:tls';
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
export function closeFailedHandshakes(server: TlsServer): void {
  server.on('tlsClientError', (_fault: Error, socket: TLSSocket) => socket.destroy());
}

export function tlsReloader(server: TlsServer, options: TlsListenOptions): TlsListener['reloadTls'] {
  let inUse = options.ticketKeys;
  return (tls, ticketKeys = inUse) => {
    // `setSecureContext` replaces the whole context: repeat the minimum version and the ticket keys.
    server.setSecureContext(secureContext({ tls, ...(ticketKeys && { ticketKeys }) }));
    inUse = ticketKeys;
  };
}

/**
 * Octets handed to TLS at once. Node reads encrypted octets into a buffer that it keeps for as long as the connection lives: of 64 KiB
 * when the kernel's octets come first, of 1 KiB when it is handed less than that. A read that fills it adds one of 16 KiB.
 */
const PIECE_OCTETS = 1000;

/**
 * Gives a connection to TLS with the first octets of its ClientHello, in small pieces: an idle connection takes 12 KiB less
 * (docs/adr/14-memory-and-rest.md). A connection that sends nothing has no TLS state.
 *
 * @param server made by `tls.createServer`, before other listeners of 'connection' are added; it does not start TLS by itself any more
 * @returns starts TLS on a connection
 */
export function afterClientHello(server: Server): (socket: Socket) => void {
  const [startTls] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (startTls === undefined) throw new TypeError('the server has no listener that starts TLS');
  server.off('connection', startTls);
  return (socket) => {
    const destroy = (): void => void socket.destroy();
    // 'close' follows. Without this listener a reset by the peer would end the process.
    socket.on('error', destroy);
    // At the peer's FIN it is emitted too, with nothing to read.
    socket.once('readable', () => {
      if (socket.destroyed || socket.readableLength === 0) return destroy();
      readInPieces(socket);
      startTls.call(server, socket);
      // TLS has its own listener now, which reports the error.
      socket.off('error', destroy);
    });
  };
}

/** TLS calls `read` until it returns null, then reads the handle itself. */
function readInPieces(socket: Socket): void {
  const read = Reflect.get(socket, 'read') as (this: Socket, octets?: number) => Buffer | null;
  socket.read = function readPiece(octets = Math.min(PIECE_OCTETS, socket.readableLength)) {
    // A destroyed TLS socket has no handle that could take another piece.
    const piece = socket.destroyed ? null : read.call(socket, octets);
    // Not `delete`: an object with a deleted property takes 1.5 KB more. Not at null: `read(0)` may come before TLS reads.
    if (socket.destroyed || socket.readableLength === 0) socket.read = read;
    return piece;
  };
}
