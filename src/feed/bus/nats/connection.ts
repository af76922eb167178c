/** A connection that is made again whenever it is lost. */
import type { NatsConnection } from '@nats-io/transport-node';
import type { Backoff } from '../../../base/lifecycle/backoff.ts';
import { loop } from '../../../base/lifecycle/loop.ts';
import { createWaker } from '../../../base/lifecycle/waker.ts';

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

export interface ConnectionEvents {
  /** A new connection: nothing of an earlier one is left on it. */
  readonly onOpen: (connection: NatsConnection) => Promise<void> | void;
  readonly onLost: () => void;
  /** A failed attempt to connect, or what the broker refused. */
  readonly onError: (error: unknown) => void;
}

/** A node is connected again at most two seconds after its broker is back. */
const BACKOFF: Backoff = { firstMs: 100, capMs: 2_000 };
const CONNECT_MS = 2_000;
/** After a connection that lasted `LASTING_MS`: changes wait for the next one. A broker that closes each connection makes no busy loop. */
const AGAIN_MS = 10;
const LASTING_MS = 5_000;
/** A broker that does not answer two pings counts as gone: its machine or network may have died without a word. */
const PING_MS = 2_000;
const PINGS_OUT = 2;

/** Connects in the background. @returns ends the connection; resolves when it is closed */
export function keepConnected(servers: NatsServers, events: ConnectionEvents): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  let connection: NatsConnection | null = null;

  async function pass(): Promise<number> {
    const opened = await connect(servers);
    const openedAt = performance.now();
    connection = opened;
    if (signal.aborted) await opened.close();
    else {
      const reported = reportErrors(opened, events.onError);
      try {
        await events.onOpen(opened);
        await opened.closed();
      } finally {
        // Also after an error of onOpen, which leaves the connection open.
        await opened.close();
        await reported;
        connection = null;
        events.onLost();
      }
    }
    return performance.now() - openedAt < LASTING_MS ? BACKOFF.firstMs : AGAIN_MS;
  }

  const ended = loop({
    signal,
    waker: createWaker(signal),
    pass,
    backoff: BACKOFF,
    onError: events.onError,
  });
  return async () => {
    ending.abort();
    await connection?.close();
    await ended;
  };
}

async function connect({ servers, tls, seed, inboxPrefix }: NatsServers): Promise<NatsConnection> {
  // Loaded here, so that a process without a broker does not load it.
  const nats = await import('@nats-io/transport-node');
  return nats.connect({
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
}

async function reportErrors(connection: NatsConnection, onError: (error: unknown) => void): Promise<void> {
  for await (const status of connection.status()) if (status.type === 'error') onError(status.error);
}
