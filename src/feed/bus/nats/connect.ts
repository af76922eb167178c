/** One attempt to connect to a broker: it ends within its time, and leaves no socket behind. Loaded with the first one: the client is large. */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import * as nats from '@nats-io/transport-node';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';

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

interface Options extends nats.NodeConnectionOptions {
  /** No further address is tried once it is aborted. */
  readonly signal: AbortSignal;
}

/**
 * That of the client keeps sockets for as long as a broker stands still: of attempts that took too long, and where pings are unanswered.
 * All connections of the process share one factory, so nothing in it is of one of them.
 */
class Transport extends NodeTransport {
  /** Whether the attempt has ended well. */
  isOpen = false;

  override async connect(host: Parameters<NodeTransport['connect']>[0], options: Options): Promise<void> {
    options.signal.throwIfAborted();
    await super.connect(host, options);
  }

  override async dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    // Kept from the first moment on, so that `discard` finds it.
    this.socket = createConnection({ host: hostname, port, noDelay: true });
    await once(this.socket, 'connect');
    return this.socket;
  }

  /** An address that failed is left without a word: the client would take it for the loss of the connection to the next one. */
  override async close(error?: Error): Promise<void> {
    if (this.isOpen && this.connected) await super.close(error);
    else this.discard();
  }

  override disconnect(): void {
    void this.close(new nats.ConnectionError('the broker answered no ping'));
  }
}

/** @param signal ends the attempt after the present address */
export async function connect(
  { servers, tls, seed, inboxPrefix }: NatsServers,
  signal: AbortSignal,
): Promise<nats.NatsConnection> {
  const options: Options = {
    servers: [...servers],
    inboxPrefix,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: PINGS_OUT,
    // The client's own reconnects would send what was published meanwhile: heartbeats of the past.
    reconnect: false,
    signal,
    ...(tls === undefined ? {} : { tls }),
    ...(seed === undefined ? {} : { authenticator: nats.nkeyAuthenticator(Buffer.from(seed)) }),
  };
  nats.setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  const connection = await nats.NatsConnectionImpl.connect(options);
  const { transport, heartbeats, lastError } = (connection as nats.NatsConnectionImpl).protocol;
  if (transport instanceof Transport) transport.isOpen = true;
  if (!connection.isClosed()) return connection;
  // Another address took the connection and lost it: the client counts as closed since, and holds the connection to this one.
  heartbeats.cancel();
  await transport.close();
  throw lastError ?? new nats.ConnectionError('an address of the broker took the connection and lost it');
}
