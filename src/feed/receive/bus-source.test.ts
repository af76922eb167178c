import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EPOCH, verifier } from '../../../test/support/feed/batch/messages.ts';
import { busSourceWorld, testKeys, testSecrets } from '../../../test/support/feed/bus/bus-source-world.ts';
import { inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { changeSourceSuite } from '../../../test/support/feed/source-suite.ts';
import { BusError, SUBJECTS } from '../bus/bus.ts';
import { writeHead } from '../message/batch.ts';
import { openBusSource } from './bus-source.ts';

it('asks nobody for changes of the log that was compared, once it has heard of another one', async () => {
  const broker = createMemoryBroker();
  const [control, node] = [broker.connect('control'), broker.connect('node')];
  let asked = 0;
  const ask = async (): Promise<never> => {
    asked++;
    throw new BusError('timeout');
  };
  const source = openBusSource({
    bus: { ...node, state: () => node.state(), readFrom: ask, readLast: ask },
    rpc: { askPlain: ask },
    verifier,
    keys: () => testKeys,
    clock: () => 1_000,
  });
  const tell = async (epoch: string, head: number, at: number): Promise<void> => {
    const heard = new Promise((resolve) => source.onChange(resolve));
    control.publish(SUBJECTS.head, writeHead({ epoch, oldest: 1, head, at }, testSecrets));
    await heard;
  };
  await tell(EPOCH, 3, 1_000);
  assert.deepEqual(await source.bounds(), { epoch: EPOCH, oldest: 1, head: 3 });
  const other = '9d2b6c11-2f1c-4b1d-8a50-0c7b8f5b7c11';
  await tell(other, 5, 1_001);
  assert.deepEqual(await source.since(3, 10), []);
  assert.equal(asked, 0);
  assert.deepEqual(await source.bounds(), { epoch: other, oldest: 1, head: 5 });
  source.close();
});

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
