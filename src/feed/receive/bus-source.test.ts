import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EPOCH, header, revocations, verifier } from '../../../test/support/feed/batch/messages.ts';
import {
  busSourceWorld,
  testKeys,
  testRpc,
  testSecrets,
} from '../../../test/support/feed/bus/bus-source-world.ts';
import { inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { changeSourceSuite } from '../../../test/support/feed/source-suite.ts';
import { BusError, SUBJECTS } from '../bus/bus.ts';
import { packRows, writeBatch, writeHead } from '../message/batch.ts';
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
  assert.deepEqual(await source.since(EPOCH, 3, 10), []);
  assert.equal(asked, 0);
  assert.deepEqual(await source.bounds(), { epoch: other, oldest: 1, head: 5 });
  source.close();
});

it('of two batches of one millisecond the later one tells where the log ends', async () => {
  const broker = createMemoryBroker();
  const [control, node] = [broker.connect('control'), broker.connect('node')];
  const source = openBusSource({
    bus: node,
    rpc: testRpc(node, 'node', () => 1_000),
    verifier,
    keys: () => testKeys,
    clock: () => 1_000,
  });
  const tell = async (subject: string, message: Uint8Array): Promise<void> => {
    const heard = new Promise((resolve) => source.onChange(resolve));
    control.publish(subject, message);
    await heard;
  };
  await tell(SUBJECTS.head, writeHead({ epoch: EPOCH, oldest: 1, head: 1, at: 1_000 }, testSecrets));
  for (const seq of [2, 3]) {
    const [rows] = packRows(revocations(seq, seq));
    await tell(SUBJECTS.live, writeBatch(header(), rows!, testSecrets));
  }
  assert.deepEqual(await source.bounds(), { epoch: EPOCH, oldest: 1, head: 3 });
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
