/** The bus over NATS: live messages and questions over core NATS, the streams over JetStream. */

import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { type Backoff, createWaker, loop } from '../../../base/lifecycle/loop.ts';
import { realTimers } from '../../../base/lifecycle/timers.ts';
import { AppendConflictError, type Bus, BusError, type BusFault, type BusState } from '../bus.ts';
import { type NatsStreams, openStreams, type StreamSizes } from './streams.ts';

export interface NatsBusOptions extends NatsServers {
  /** Given by control, which makes the streams; null: a node. */
  readonly streams: StreamSizes | null;
  /** A failed attempt to connect, or what the broker refused. Must not throw. */
  readonly onError: (error: unknown) => void;
}

/** Requests on one subject are divided among those who answer them. */
const QUEUE = 'uqrp';

/** What listens at present, and begins again on each connection. */
interface Listener {
  attach(connection: NatsConnection): Subscription;
  subscription: Subscription | null;
}

/** A connection that is in use. */
interface Open {
  readonly connection: NatsConnection;
  readonly streams: NatsStreams;
  /** Milliseconds. */
  readonly roundTrip: number;
}

/** Returns at once and connects in the background: a node serves while its broker is away. */
export function openNatsBus(options: NatsBusOptions): Bus {
  const listeners = new Set<Listener>();
  const stateListeners = new Set<(state: BusState) => void>();
  let current: Open | null = null;
  /** A connection that listeners are attached to, although its streams are not open yet. */
  let opening: NatsConnection | null = null;
  let isClosed = false;

  function enter(next: Open | null): void {
    const changed = (next === null) !== (current === null);
    current = next;
    if (!changed || isClosed) return;
    for (const listener of stateListeners) listener(next === null ? 'disconnected' : 'connected');
  }

  const disconnect = keepConnected(options, {
    async onOpen(connection) {
      opening = connection;
      try {
        for (const listener of listeners) listener.subscription = listener.attach(connection);
        const streams = await openStreams(connection, options.streams);
        // The broker has the subscriptions before anybody hears that the bus is connected.
        const askedAt = realTimers.elapsed();
        // A flush of the client never ends when the connection is lost meanwhile.
        await Promise.race([connection.flush(), connection.closed()]);
        if (connection.isClosed()) return;
        enter({ connection, streams, roundTrip: realTimers.elapsed() - askedAt });
      } finally {
        opening = null;
      }
    },
    onLost: () => enter(null),
    onError: options.onError,
  });

  function listen(attach: Listener['attach']): () => void {
    const listener: Listener = { attach, subscription: null };
    listeners.add(listener);
    const present = current?.connection ?? opening;
    if (present !== null && !present.isClosed()) listener.subscription = attach(present);
    return () => {
      if (listeners.delete(listener)) listener.subscription?.unsubscribe();
    };
  }

  function connected(): Open {
    if (isClosed) throw new BusError('closed');
    if (current === null) throw new BusError('disconnected');
    return current;
  }

  async function call<T>(run: (open: Open) => Promise<T>): Promise<T> {
    const open = connected();
    try {
      return await run(open);
    } catch (error) {
      if (error instanceof BusError || error instanceof AppendConflictError || error instanceof RangeError)
        throw error;
      throw new BusError(isClosed ? 'closed' : faultOf(error), error);
    }
  }

  return {
    publish(subject, data) {
      if (current === null || current.connection.isClosed()) return;
      try {
        current.connection.publish(subject, data);
      } catch (error) {
        // Longer than what the broker says it takes, which it may change at any moment.
        options.onError(error);
      }
    },
    subscribe: (subject, handler) =>
      listen((connection) =>
        connection.subscribe(subject, {
          callback: (error, message) =>
            error === null ? handler(message.data, message.subject) : options.onError(error),
        }),
      ),
    request: (subject, data, timeoutMs) =>
      call(async ({ connection }) => (await connection.request(subject, data, { timeout: timeoutMs })).data),
    respond: (subject, handler) =>
      listen((connection) =>
        connection.subscribe(subject, {
          queue: QUEUE,
          callback(error, message) {
            if (error !== null) return options.onError(error);
            handler(message.data, message.subject)
              .then((answer) => {
                if (answer !== null && !connection.isClosed()) message.respond(answer);
              })
              // Also of the client: an answer longer than the broker takes. Nobody else would hear it, and the process would end.
              .catch(options.onError);
          },
        }),
      ),
    append: (data, expectedLast) => call(({ streams }) => streams.append(data, expectedLast)),
    readFrom: (seq, limit) => call(({ streams }) => streams.readFrom(seq, limit)),
    readLast: () => call(({ streams }) => streams.readLast()),
    lastSeq: () => call(({ streams }) => streams.lastSeq()),
    eraseStreams: () => call(({ streams }) => streams.eraseStreams()),
    putChunk: (name, data) => call(({ streams }) => streams.putChunk(name, data)),
    getChunk: (name) => call(({ streams }) => streams.getChunk(name)),
    deleteChunk: (name) => call(({ streams }) => streams.deleteChunk(name)),
    reserveChunks: (octets) => call(({ streams }) => streams.reserveChunks(octets)),
    chunkNames: () => call(({ streams }) => streams.chunkNames()),
    state: () => (current === null ? 'disconnected' : 'connected'),
    roundTrip: () => current?.roundTrip ?? 0,
    onState(listener) {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    async close() {
      isClosed = true;
      stateListeners.clear();
      await disconnect();
    },
  };
}

/** By name: the classes are in a package that is loaded late. */
function faultOf(error: unknown): BusFault {
  const { name, cause } = error as { readonly name?: unknown; readonly cause?: { readonly name?: unknown } };
  const names = [name, cause?.name];
  if (names.includes('TimeoutError')) return 'timeout';
  if (names.includes('NoResponders') || name === 'JetStreamNotEnabled') return 'no_responders';
  if (names.some((is) => is === 'ClosedConnectionError' || is === 'ConnectionError')) return 'disconnected';
  return 'failed';
}

/** A connection that is made again whenever it is lost. */

interface NatsServers {
  /** `host:port`. */
  readonly servers: readonly string[];
  /** PEM. Left out: no TLS. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
  /** Seed of the nkey that identifies this end to the broker. */
  readonly seed?: string;
  /** Begins the subjects that answers come to: permissions give each node its own, else it could read answers for others. */
  readonly inboxPrefix: string;
}

interface ConnectionEvents {
  /** A new connection: nothing of an earlier one is left on it. */
  readonly onOpen: (connection: NatsConnection) => Promise<void> | void;
  readonly onLost: () => void;
  /** A failed attempt to connect, or what the broker refused. */
  readonly onError: (error: unknown) => void;
}

/** Of attempts that the broker's machine refused. */
const BACKOFF: Backoff = { firstMs: 100, capMs: 1_000 };
/** An attempt sends its first packet at once and after a second. The next attempt follows at once: a line that is up again is noticed within a second. */
const CONNECT_MS = 2_000;
/** After a connection that lasted `LASTING_MS`: changes wait for the next one. A broker that closes each connection makes no busy loop. */
const AGAIN_MS = 10;
const LASTING_MS = 5_000;
/** A broker that does not answer two pings counts as gone: its machine or network may have died without a word. */
const PING_MS = 2_000;
const PINGS_OUT = 2;

/** Connects in the background. @returns ends the connection; resolves when it is closed */
function keepConnected(servers: NatsServers, events: ConnectionEvents): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  let connection: NatsConnection | null = null;

  /** @returns null when nobody answered in time: that has taken longer than any delay between two attempts */
  async function attempt(): Promise<NatsConnection | null> {
    try {
      return await connect(servers);
    } catch (error) {
      if (signal.aborted || faultOf(error) !== 'timeout') throw error;
      events.onError(error);
      return null;
    }
  }

  async function pass(): Promise<number> {
    const opened = await attempt();
    if (opened === null) return AGAIN_MS;
    const openedAt = realTimers.elapsed();
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
    return realTimers.elapsed() - openedAt < LASTING_MS ? BACKOFF.firstMs : AGAIN_MS;
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
  const { NodeTransport, nodeResolveHost } = await import('@nats-io/transport-node/lib/node_transport.js');
  /** Waits for nothing when an attempt took too long or pings are unanswered: that of the client keeps the socket then, as long as the broker stands still. */
  class Transport extends NodeTransport {
    override async close(error?: Error): Promise<void> {
      if (this.connected) await super.close(error);
      else this.discard();
    }
    override disconnect(): void {
      void this.close(new nats.ConnectionError('the broker answered no ping'));
    }
  }
  nats.setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  return nats.NatsConnectionImpl.connect({
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
