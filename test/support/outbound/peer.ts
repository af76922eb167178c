import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions, TLSSocket, type TLSSocketOptions } from 'node:tls';
import { type Certificate, makeCertificate } from './certificates.ts';

/** Servers that behave as told, down to the octets, and know how many connections they have. */

export const HOST = 'hook.example.com';

const root = makeCertificate({ commonName: 'root', isAuthority: true });
export const intermediate: Certificate = makeCertificate({
  commonName: 'intermediate',
  isAuthority: true,
  issuer: root,
});
/** The authority that clients of the tests trust. */
export const ROOT_PEM: string = root.cert;

/** A leaf below the intermediate, for `HOST` unless told otherwise. */
export function leaf(
  options: { hosts?: readonly string[]; from?: number; until?: number } = {},
): Certificate {
  return makeCertificate({ commonName: 'leaf', issuer: intermediate, hosts: [HOST], ...options });
}

/** What a server sends with the leaf. */
export function chainOf(certificate: Certificate, ...above: readonly Certificate[]): SecureContextOptions {
  return { key: certificate.key, cert: [certificate, ...above].map(({ cert }) => cert).join('') };
}

/** The chain of a server with which nothing is wrong. */
export const GOOD: SecureContextOptions = chainOf(leaf(), intermediate);

/** One connection, before TLS and within it. */
export interface Side {
  readonly raw: Socket;
  readonly secure: TLSSocket;
}

/**
 * Resets the connection. Once it is shutting down, libuv refuses that and Node never closes the handle: the process would not end. Then it
 * is closed without a reset.
 */
export function reset({ raw, secure }: Side): void {
  if (raw.writableEnded || secure.writableEnded) raw.destroy();
  else raw.resetAndDestroy();
}

export interface Peer {
  readonly port: number;
  /** Connections ever made. */
  readonly count: () => number;
  /** Resolves once every connection has ended. */
  readonly idle: () => Promise<void>;
  close(): void;
}

/** A TCP server on a port of its own. */
export async function startTcp(serve: (raw: Socket) => void, host = '127.0.0.1', port = 0): Promise<Peer> {
  const open = new Set<Socket>();
  const events = new EventEmitter();
  let count = 0;
  const server = createServer((raw) => {
    count++;
    open.add(raw);
    const onEnd = (): void => {
      open.delete(raw);
      events.emit('closed');
    };
    // A reset of a connection that the client has closed gives an error and no close.
    raw.on('error', onEnd);
    raw.on('close', onEnd);
    serve(raw);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    count: () => count,
    idle: async () => {
      // A paused socket does not see the end.
      for (const raw of open) raw.resume();
      while (open.size > 0) await once(events, 'closed');
    },
    close: () => {
      for (const raw of open) raw.destroy();
      server.close();
    },
  };
}

/** The same with TLS. `serve` is called before the handshake. */
export function startTls(
  serve: (side: Side) => void,
  context: SecureContextOptions = GOOD,
  options: TLSSocketOptions = {},
  host?: string,
  port?: number,
): Promise<Peer> {
  const secureContext = createSecureContext(context);
  return startTcp(
    (raw) => {
      const secure = new TLSSocket(raw, { isServer: true, secureContext, ...options });
      secure.on('error', () => raw.destroy());
      secure.on('close', () => raw.destroy());
      serve({ raw, secure });
      secure.resume();
    },
    host,
    port,
  );
}

/** Serves with the given octets as soon as a request has begun, and waits then. */
export function says(...parts: readonly (string | Uint8Array)[]): (side: Side) => void {
  return ({ secure }) => {
    secure.once('data', () => {
      for (const part of parts) secure.write(part);
    });
  };
}

/** A good server that answers 200. */
export const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
