import { busSuite, inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';

busSuite('memory', async () => {
  const broker = createMemoryBroker();
  return {
    connect: async () => broker.connect(),
    purge: async (seq) => broker.purge(seq),
    stop: async () => broker.stop(),
    start: async () => broker.start(),
    async close() {},
  };
});

busSuite(
  'NATS',
  async () => {
    const world = await natsWorld(await startNats());
    const connect = async () => {
      const bus = world.open();
      await inState(bus, 'connected');
      return bus;
    };
    // The first end makes the streams. The broker names a stream before it listens on its subject, so another end could append too early.
    await (await connect()).readLast();
    return { ...world, connect };
  },
  natsMissing(),
);
