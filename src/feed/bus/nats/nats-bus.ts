/** The bus over NATS: live messages and questions over core NATS, the streams over JetStream. */

import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { type Backoff, createWaker, loop } from '../../../base/lifecycle/loop.ts';
import { backgroundTimers, realTimers } from '../../../base/lifecycle/timers.ts';
import { AppendConflictError, type Bus, BusError, type BusFault, type BusState } from '../bus.ts';
import type { NatsServers } from './connect.ts';
import { type NatsStreams, openStreams, type StreamSizes } from './streams.ts';

export interface NatsBusOptions extends NatsServers {
  /** Given by control, which makes the streams; null: a node. */
  readonly streams: StreamSizes | null;
  /** A failed attempt to connect, or what the broker refused. Must not throw. */
  readonly onError: (error: unknown) => void;
}

/** Requests on one subject are divided among those who answer them. */
const QUEUE = 'uqrp';

/** Milliseconds after which a subscription that the broker refused is asked for again: it may have learned of this end since. */
const REFUSED_MS = 5_000;

/** What listens at present, and begins again on each connection. */
interface Listener {
  readonly subject: string;
  /** Several that have the same divide the messages among them. */
  readonly queue?: string;
  readonly hear: (message: Msg, connection: NatsConnection) => void;
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
        for (const listener of listeners) attach(listener, connection);
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

  function attach(listener: Listener, connection: NatsConnection): void {
    const { subject, queue, hear } = listener;
    listener.subscription = connection.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback(error, message) {
        if (error !== null) {
          // It is reported with the errors of the connection. The client gives the subscription up.
          backgroundTimers.after(REFUSED_MS, () => {
            if (listeners.has(listener) && !connection.isClosed()) attach(listener, connection);
          });
          return;
        }
        try {
          hear(message, connection);
        } catch (fault) {
          // The client would hear nothing more on this connection.
          options.onError(fault);
        }
      },
    });
  }

  function listen(begun: Omit<Listener, 'subscription'>): () => void {
    const listener: Listener = { ...begun, subscription: null };
    listeners.add(listener);
    const present = current?.connection ?? opening;
    if (present !== null && !present.isClosed()) attach(listener, present);
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
      listen({ subject, hear: (message) => handler(message.data, message.subject) }),
    request: (subject, data, timeoutMs) =>
      call(async ({ connection }) => (await connection.request(subject, data, { timeout: timeoutMs })).data),
    respond: (subject, handler) =>
      listen({
        subject,
        queue: QUEUE,
        hear(message, connection) {
          handler(message.data, message.subject)
            .then((answer) => {
              if (answer !== null && !connection.isClosed()) message.respond(answer);
            })
            // Also of the client: an answer longer than the broker takes. Nobody else would hear it, and the process would end.
            .catch(options.onError);
        },
      }),
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
  const names: unknown[] = [];
  for (let at = error; at instanceof Error; at = at.cause) names.push(at.name);
  if (names.includes('TimeoutError')) return 'timeout';
  // The connection was lost before an answer came.
  if (names.at(-1) === 'RequestError') return 'timeout';
  if (names.includes('NoResponders') || names[0] === 'JetStreamNotEnabled') return 'no_responders';
  if (names.some((is) => is === 'ClosedConnectionError' || is === 'ConnectionError')) return 'disconnected';
  return 'failed';
}

/** A connection that is made again whenever it is lost. */

interface ConnectionEvents {
  /** A new connection: nothing of an earlier one is left on it. */
  readonly onOpen: (connection: NatsConnection) => Promise<void> | void;
  readonly onLost: () => void;
  /** A failed attempt to connect, or what the broker refused. */
  readonly onError: (error: unknown) => void;
}

/** Of attempts that the broker's machine refused. */
const BACKOFF: Backoff = { firstMs: 100, capMs: 1_000 };
/** After a connection that lasted `LASTING_MS`: changes wait for the next one. A broker that closes each connection makes no busy loop. */
const AGAIN_MS = 10;
const LASTING_MS = 5_000;

/** Connects in the background. @returns ends the connection; resolves when it is closed, or an attempt is left that nobody uses */
function keepConnected(servers: NatsServers, events: ConnectionEvents): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  let connection: NatsConnection | null = null;
  let isAttempting = false;

  /** @returns null when nobody answered in time: that has taken longer than any delay between two attempts */
  async function attempt(): Promise<NatsConnection | null> {
    isAttempting = true;
    try {
      // Loaded here, so that a process without a broker does not load it.
      const { connect } = await import('./connect.ts');
      return await connect(servers, signal);
    } catch (error) {
      if (signal.aborted || faultOf(error) !== 'timeout') throw error;
      events.onError(error);
      return null;
    } finally {
      isAttempting = false;
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
    // An attempt closes what it opens now. Servers that do not answer take two seconds each, and their names more.
    if (!isAttempting) await ended;
  };
}

async function reportErrors(connection: NatsConnection, onError: (error: unknown) => void): Promise<void> {
  for await (const status of connection.status()) if (status.type === 'error') onError(status.error);
}
