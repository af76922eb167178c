import { busSourceWorld } from '../../../test/support/feed/bus/bus-source-world.ts';
import { inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { changeSourceSuite } from '../../../test/support/feed/source-suite.ts';

changeSourceSuite('bus in memory', (clock) => {
  const broker = createMemoryBroker();
  const carrier = {
    control: broker.connect('control'),
    node: broker.connect('node'),
    purge: async () => broker.purge(Number.MAX_SAFE_INTEGER),
    cut: async () => broker.cut('node'),
    async close() {},
  };
  return busSourceWorld(carrier, clock);
});

changeSourceSuite(
  'NATS',
  async (clock) => {
    const world = await natsWorld(await startNats());
    const control = world.open();
    await inState(control, 'connected');
    const node = world.open({ streams: null });
    await inState(node, 'connected');
    const carrier = {
      control,
      node,
      purge: async () => world.purge((await control.readLast())?.seq ?? 0),
      cut: () => node.close(),
      close: () => world.close(),
    };
    return busSourceWorld(carrier, clock);
  },
  natsMissing(),
);
