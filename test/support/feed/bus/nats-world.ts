import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Bus, STREAMS } from '../../../../src/feed/bus/bus.ts';
import { type NatsBusOptions, openNatsBus } from '../../../../src/feed/bus/nats/nats-bus.ts';
import type { NatsServer } from './nats-server.ts';

const MEGABYTE = 1_048_576;

export const SMALL_STREAMS = { replicas: 1, feedOctets: 64 * MEGABYTE, chunkOctets: 64 * MEGABYTE } as const;

export interface NatsWorld {
  open(more?: Partial<NatsBusOptions>): Bus;
  purge(seq: number): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Ends of a server that asks for no credentials. Closing the world closes them and removes the server. */
export async function natsWorld(server: NatsServer): Promise<NatsWorld> {
  const buses: Bus[] = [];
  return {
    open(more = {}) {
      const bus = openNatsBus({
        servers: [server.address],
        inboxPrefix: `_INBOX.end${buses.length}`,
        streams: SMALL_STREAMS,
        onError: () => {},
        ...more,
      });
      buses.push(bus);
      return bus;
    },
    async purge(seq) {
      const connection = await connect({ servers: server.address });
      await (await jetstreamManager(connection)).streams.purge(STREAMS.feed, { seq: seq + 1 });
      await connection.close();
    },
    stop: () => server.kill(),
    start: () => server.start(),
    async close() {
      await Promise.all(buses.map((bus) => bus.close()));
      await server.remove();
    },
  };
}
