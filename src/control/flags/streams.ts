import type { FastifyReply, FastifyRequest } from 'fastify';
import { createPlaces } from '../../base/lifecycle/places.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { type EventOutput, eventStream } from '../../http/streams.ts';
import type { Store } from '../../store/store.ts';
import type { ChangeReader } from '../changes/api.ts';
import { OPENING, openEventStreams, type Sender } from '../live/streams.ts';
import { epochTag, type Positions } from '../unit.ts';
import { FlagRefusal } from './answers.ts';
import type { FlagChange, FlagNamespace, FlagSource, Held } from './source.ts';

interface FlagStreamsOptions {
  readonly source: Pick<FlagSource, 'hold' | 'onChange'>;
  readonly store: Pick<Store, 'onWork'>;
  readonly changeReader: Pick<ChangeReader, 'epoch' | 'place'>;
  readonly positions: Positions;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
}

/** One request for the events of a namespace. */
interface StreamRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly namespace: FlagNamespace;
  /** False: its credential or its namespace has ended. */
  readonly renew: () => Promise<boolean>;
}

/** The streams of one namespace. */
interface Hub {
  readonly clients: Set<{ readonly output: EventOutput; isOwed: boolean }>;
  /** Milliseconds of a clock that nobody sets. */
  sentAt: number;
  latest: string;
  /** Cancels the event that waits. */
  cancel: (() => void) | null;
}

/** The event streams of a process: each tells that flags of its namespace have changed, never which or to what. */
export function openFlagStreams(options: FlagStreamsOptions) {
  const { source, changeReader, positions, clock, timers } = options;
  const streams = openEventStreams(options);
  const all = LIMITS.flagStreams;
  // A stream without events is no stalled one: it gives way only to somebody with two streams fewer.
  const patience = { ms: Number.POSITIVE_INFINITY, clock };
  const ofOwners = createPlaces({ all, each: LIMITS.flagStreamsOfNamespace, patience });
  const ofNetworks = createPlaces({ all, each: LIMITS.flagStreamsPerAddress, patience });
  let places = 0;
  // By id: of a name that another customer has taken, streams of the former owner hear nothing.
  const hubs = new Map<string, Hub>();

  /** @param id null: the client keeps the one that it has */
  function textOf(id: string | null, { at, tag }: Pick<FlagChange, 'at' | 'tag'>): string {
    const data = { type: 'refetchEvaluation', etag: tag(), lastModified: Math.floor(at / 1000) };
    return `${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
  }

  function cursorOf(
    { customerId }: FlagNamespace,
    { seq, at, epoch }: Pick<FlagChange, 'seq' | 'at' | 'epoch'>,
  ): string {
    return positions.text(customerId, { seq, at, epoch: epochTag(epoch ?? '') });
  }

  function sendAll(hub: Hub, namespace: FlagNamespace, change: FlagChange): void {
    hub.cancel = null;
    hub.sentAt = timers.elapsed();
    hub.latest = textOf(cursorOf(namespace, change), change);
    for (const client of hub.clients) {
      client.isOwed = !client.output.isReady();
      if (!client.isOwed) client.output.write(hub.latest);
    }
  }

  const unlisten = source.onChange((change) => {
    const { namespace } = change;
    const hub = hubs.get(namespace.id);
    if (hub === undefined) return;
    hub.cancel?.();
    const wait = hub.sentAt + LIMITS.flagEventMs - timers.elapsed();
    if (wait <= 0) sendAll(hub, namespace, change);
    else hub.cancel = timers.after(wait, () => sendAll(hub, namespace, change));
  });

  /** Whether the client may not know of the last change: without an id nobody knows when and where it was answered. */
  function mustTell({ request, namespace }: StreamRequest, held: Held): boolean {
    const { 'last-event-id': id } = request.headers;
    if (id === undefined || id === '') return true;
    const known = positions.read(namespace.customerId, String(id));
    return (
      known === null || known.epoch !== epochTag(changeReader.epoch() ?? '') || known.seq < held.changedAt()
    );
  }

  function senderOf(asked: StreamRequest, held: Held, output: EventOutput): Sender {
    const { namespace } = asked;
    const { id } = namespace;
    const client = { output, isOwed: false };
    const epoch = changeReader.epoch();
    /** Null: a place after an event that is still to come would hide it from a client that opens the stream again. */
    const cursor = (): string | null => {
      const seq = changeReader.place();
      if (seq === null || changeReader.epoch() !== epoch) return null;
      if (hubs.get(id)?.cancel != null || !held.isSettled()) return null;
      return cursorOf(namespace, { seq, epoch, at: clock() });
    };
    const checkpoint = (): void => {
      const place = cursor();
      if (place !== null) output.write(`event: checkpoint\nid: ${place}\ndata: {}\n\n`);
    };
    return {
      begin() {
        const hub = hubs.get(id) ?? {
          clients: new Set(),
          sentAt: Number.NEGATIVE_INFINITY,
          latest: '',
          cancel: null,
        };
        hubs.set(id, hub);
        hub.clients.add(client);
        if (mustTell(asked, held)) output.write(textOf(cursor(), { at: clock(), tag: () => held.tag() }));
        else checkpoint();
        return () => {
          hub.clients.delete(client);
          if (hub.clients.size > 0) return;
          hub.cancel?.();
          if (hubs.get(id) === hub) hubs.delete(id);
        };
      },
      tick(isHeartbeat) {
        // After a failover the client may have what is gone. It opens the stream again, after an event of another log, and is told.
        if (changeReader.epoch() !== epoch) return output.cutOff();
        if (client.isOwed) output.write(hubs.get(id)?.latest ?? '');
        else if (isHeartbeat) checkpoint();
        client.isOwed = false;
      },
    };
  }

  /**
   * Each stream has a place among those of its owner and one among those of its network. When all are taken, a stream of the customer with most gives
   * way. Where none has more, one of the network with most does, to a customer without a stream. @throws FlagRefusal 429
   */
  function enter({ request, reply, namespace }: StreamRequest): { leave(): void } {
    const address = request.addressKey();
    const customer = `customer ${namespace.customerId}`;
    const owner = [customer, namespace.id];
    const network = [`network ${request.siteKey() ?? address}`, address];
    const isMost =
      ofOwners.of(namespace.id) >= LIMITS.flagStreamsOfNamespace ||
      ofNetworks.of(address) >= LIMITS.flagStreamsPerAddress;
    const makeRoom = (): boolean =>
      ofOwners.makeRoom(owner) || (ofOwners.of(customer) === 0 && ofNetworks.makeRoom(network));
    if (isMost || (places >= all && !makeRoom()))
      throw new FlagRefusal(429, 'too many streams', { retryAfter: 10 });
    const openedAt = clock();
    let hasLeft = false;
    const leave = (): void => {
      if (!hasLeft) places--;
      hasLeft = true;
      for (const place of taken) place?.leave();
    };
    const holder = {
      since: () => openedAt,
      giveWay() {
        leave();
        // The client opens the stream again after the last event that it has.
        reply.raw.destroy();
      },
    };
    const taken = [ofOwners.enter(owner, holder), ofNetworks.enter(network, holder)];
    places++;
    return { leave };
  }

  return {
    /** Answers with the events of a namespace. @throws FlagRefusal 429, 401 */
    async open(asked: StreamRequest): Promise<FastifyReply> {
      const { reply, namespace, renew } = asked;
      const place = enter(asked);
      const held = await source.hold(namespace).catch((error: unknown) => {
        place.leave();
        throw error;
      });
      const leave = (): void => {
        place.leave();
        held?.release();
      };
      if (held === null) {
        leave();
        throw new FlagRefusal(401, '');
      }
      let stop = (): void => {};
      const { body, end, ...output } = eventStream(reply.raw, () => {
        leave();
        stop();
      });
      output.write(OPENING);
      const sender = senderOf(asked, held, output);
      stop = streams.open({ output, sender, end, renew });
      return reply.send(body);
    },
    endAll: () => streams.endAll(),
    async close(): Promise<void> {
      unlisten();
      for (const { cancel } of hubs.values()) cancel?.();
      await streams.close();
    },
  };
}
