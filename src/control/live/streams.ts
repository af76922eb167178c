import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from '../../base/errors.ts';
import { every } from '../../base/lifecycle/loop.ts';
import { createPlaces } from '../../base/lifecycle/places.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import { sendHead } from '../../http/answers.ts';
import { actorOf } from '../../http/guard.ts';
import { type EventOutput, eventStream } from '../../http/streams.ts';
import type { Store } from '../../store/store.ts';

/** Seconds for which a client may read nothing. */
const STALLED_S = LIMITS.listingIdleMs / 1000;
/** Seconds between two signs of life: proxies close a connection that is silent for 30 to 60 seconds. */
const HEARTBEAT_S = 15;

/** How long a browser waits before it connects again, milliseconds. The comment lets the answer begin at once. */
export const OPENING = 'retry: 3000\n\n';

/** What one client is sent. */
export interface Sender {
  /** Begins, once the credential was checked again. @returns stops */
  readonly begin: () => () => void;
  /** Called once a second, after `begin`, while the client reads. @param isHeartbeat something must be sent */
  readonly tick: (isHeartbeat: boolean) => void;
}

/** One client of a stream. */
export interface StreamClient {
  readonly output: EventOutput;
  readonly sender: Sender;
  /** Asks whether its credential still allows what the stream began with. */
  readonly renew: () => Promise<boolean>;
  /** Ends the answer. */
  readonly end: () => void;
}

export interface Streams {
  /** Begins to send. @returns stops; call it when the answer has ended or the connection is closed */
  open(client: StreamClient): () => void;
  /** Ends every stream, also those that begin later: call it before connections are closed. */
  endAll(): void;
  close(): Promise<void>;
}

interface StreamsOptions {
  readonly store: Pick<Store, 'onWork'>;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
}

/** @returns what must be called once a second: it lets the sender go on, or cuts off a client that reads nothing */
export function pulseOf(output: EventOutput, tick: Sender['tick']): () => void {
  let seconds = 0;
  let stalled = 0;
  return () => {
    seconds++;
    if (output.isReady()) {
      stalled = 0;
      tick(seconds % HEARTBEAT_S === 0);
      return;
    }
    stalled++;
    if (stalled >= STALLED_S) output.cutOff();
  };
}

/** The open streams of one kind in a process: each ends with its credential, and when its client reads nothing. One timer serves all. */
export function openEventStreams({ store, timers, onError }: StreamsOptions): Streams {
  /** Clients and their pulses. */
  const open = new Map<StreamClient, () => void>();
  const ending = new WeakSet<StreamClient>();
  const joining = new Set<Promise<void>>();
  const stops = new Map<StreamClient, () => void>();
  let checking: Promise<void> | null = null;
  let mustCheckAgain = false;
  /** Told once: while the database is away no credential can be checked, and nothing can be sent. */
  let isFailing = false;
  let isClosing = false;

  /** What a slow client has not read yet is not sent any more. The stream stays open until the client has read the end, or is cut off. */
  function end(client: StreamClient): void {
    if (ending.has(client)) return;
    ending.add(client);
    if (client.output.isReady()) client.end();
    else client.output.cutOff();
  }

  /** Ends the stream with its credential. @returns whether it goes on */
  async function checkOne(client: StreamClient): Promise<boolean> {
    const goesOn = await client.renew();
    if (!goesOn) end(client);
    return goesOn;
  }

  async function check(): Promise<void> {
    do {
      mustCheckAgain = false;
      for (const client of [...open.keys()]) if (!ending.has(client)) await checkOne(client);
    } while (mustCheckAgain);
  }

  function reportOnce(error: unknown): void {
    if (!isFailing) onError(error);
    isFailing = true;
  }

  function checkSoon(): Promise<void> {
    // A credential may have ended after the check under way has asked for it.
    mustCheckAgain = true;
    checking ??= check()
      .then(() => {
        isFailing = false;
      }, reportOnce)
      .finally(() => {
        checking = null;
      });
    return checking;
  }

  /**
   * Sends once the credential was checked again: it may have ended since the request was let in. From `open.set` on, each end
   * of a credential is a check of this client too.
   */
  async function join(client: StreamClient): Promise<void> {
    try {
      if (!(await checkOne(client)) || !open.has(client) || ending.has(client)) return;
      stops.set(client, client.sender.begin());
    } catch (error) {
      reportOnce(error);
      end(client);
    }
  }

  const unlisten = store.onWork('credentials', () => void checkSoon());
  const ticking = every({
    ms: 1_000,
    timers,
    onError,
    task() {
      for (const pulse of open.values()) pulse();
      // Not awaited: a check goes on as long as credentials end, and without the next second a stream falls silent.
      if (open.size > 0 && checking === null) void checkSoon();
    },
  });

  return {
    open(client) {
      // Before it has begun, its credential may be that of nobody any more.
      const tick: Sender['tick'] = (isHeartbeat) => {
        if (stops.has(client)) client.sender.tick(isHeartbeat);
      };
      open.set(client, pulseOf(client.output, tick));
      if (isClosing) end(client);
      const joined: Promise<void> = join(client).finally(() => joining.delete(joined));
      joining.add(joined);
      return () => {
        open.delete(client);
        stops.get(client)?.();
        stops.delete(client);
      };
    },
    endAll() {
      isClosing = true;
      for (const client of open.keys()) end(client);
    },
    async close() {
      unlisten();
      await Promise.all([ticking.stop(), checking, ...joining]);
    },
  };
}

interface StreamRouteDeps extends Omit<StreamsOptions, 'onError'> {
  readonly clock: Clock;
  readonly onError?: (error: unknown) => void;
}

interface StreamRouteOptions {
  /** Streams of one person, and of the process. */
  readonly each: number;
  readonly all: number;
  readonly tooMany: () => AppError;
  /** Reads the request, and refuses it. @returns makes what is sent */
  readonly accept: (request: FastifyRequest, actor: Actor) => Promise<(output: EventOutput) => Sender>;
  /** Called when the server closes, after the streams. */
  readonly close: () => Promise<void>;
}

/** The handler of a route that answers with server-sent events. */
export function streamRoute(
  app: FastifyInstance,
  deps: StreamRouteDeps,
  { each, all, tooMany, accept, close }: StreamRouteOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  // A stream without rows is no stalled one: it gives way only to a person with two streams fewer.
  const places = createPlaces({ all, each, patience: { ms: Number.POSITIVE_INFINITY, clock: deps.clock } });
  let opened: Streams | null = null;
  const streams = (): Streams => {
    opened ??= openEventStreams({ ...deps, onError: deps.onError ?? (() => {}) });
    return opened;
  };
  app.addHook('preClose', async () => opened?.endAll());
  app.addHook('onClose', async () => {
    await opened?.close();
    await close();
  });
  return async (request, reply) => {
    const actor = actorOf(request);
    const senderOf = await accept(request, actor);
    // A proxy such as nginx would collect events before it passes them on.
    reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
    if (request.method === 'HEAD') return sendHead(reply);
    const openedAt = deps.clock();
    // The client is told nothing: it opens the stream again after the last row that it has.
    const place = places.enter(actor.personId, { since: () => openedAt, giveWay: () => reply.raw.destroy() });
    if (place === null) throw tooMany();
    let stop = (): void => {};
    const { body, end, ...output } = eventStream(reply.raw, () => {
      place.leave();
      stop();
    });
    output.write(OPENING);
    const sender = senderOf(output);
    stop = streams().open({ output, sender, end, renew: async () => (await request.renewActor()) !== null });
    return reply.send(body);
  };
}
