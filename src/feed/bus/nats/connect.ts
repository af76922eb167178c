/** One attempt to connect to a broker: it ends within its time, and leaves no socket behind. */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { NatsConnection, NatsConnectionImpl } from '@nats-io/transport-node';

export interface NatsServers {
  /** `host:port`. */
  readonly servers: readonly string[];
  /** PEM. Left out: no TLS. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  /** Seed of the nkey that identifies this end to the broker. */
  readonly seed?: string;
  /** Begins the subjects that answers come to: permissions give each node its own, else it could read answers for others. */
  readonly inboxPrefix: string;
}

/**
 * Milliseconds for each address of each server. An attempt sends its first packet at once and after a second. The next attempt follows at
 * once: a line that is up again is noticed within a second.
 */
const CONNECT_MS = 2_000;
/** A broker that does not answer two pings counts as gone: its machine or network may have died without a word. */
const PING_MS = 2_000;
const PINGS_OUT = 2;

/** @param signal no further address is tried once it is aborted */
export async function connect(
  { servers, tls, seed, inboxPrefix }: NatsServers,
  signal: AbortSignal,
): Promise<NatsConnection> {
  // Loaded here, so that a process without a broker does not load it.
  const nats = await import('@nats-io/transport-node');
  const { NodeTransport, nodeResolveHost } = await import('@nats-io/transport-node/lib/node_transport.js');
  let isOpen = false;

  /** That of the client keeps sockets for as long as a broker stands still: of attempts that took too long, and where pings are unanswered. */
  class Transport extends NodeTransport {
    override async dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
      // Kept from the first moment on, so that `discard` finds it.
      this.socket = createConnection({ host: hostname, port, noDelay: true });
      await once(this.socket, 'connect');
      return this.socket;
    }
    /** An address that failed is left without a word: the client would take it for the loss of the connection to the next one. */
    override async close(error?: Error): Promise<void> {
      if (isOpen && this.connected) await super.close(error);
      else this.discard();
    }
    override disconnect(): void {
      void this.close(new nats.ConnectionError('the broker answered no ping'));
    }
  }

  nats.setTransportFactory({
    factory() {
      signal.throwIfAborted();
      return new Transport();
    },
    dnsResolveFn: nodeResolveHost,
  });
  const connection = await nats.NatsConnectionImpl.connect({
    servers: [...servers],
    inboxPrefix,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: PINGS_OUT,
    // The client's own reconnects would send what was published meanwhile: heartbeats of the past.
    reconnect: false,
    ...(tls === undefined ? {} : { tls }),
    ...(seed === undefined ? {} : { authenticator: nats.nkeyAuthenticator(Buffer.from(seed)) }),
  });
  isOpen = true;
  // Another address took the connection and lost it: the client counts as closed since, and holds the connection to this one.
  if (connection.isClosed()) {
    const { heartbeats, transport, lastError } = (connection as NatsConnectionImpl).protocol;
    heartbeats.cancel();
    await transport.close();
    throw lastError ?? new nats.ConnectionError('an address of the broker took the connection and lost it');
  }
  return connection;
}
