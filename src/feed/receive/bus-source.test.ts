import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EPOCH, header, revocations, verifier } from '../../../test/support/feed/batch/messages.ts';
import {
  busSourceWorld,
  testEnd,
  testKeys,
  testRpc,
  testSecrets,
} from '../../../test/support/feed/bus/bus-source-world.ts';
import { inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { createFakeSource } from '../../../test/support/feed/fake-source.ts';
import { changeSourceSuite } from '../../../test/support/feed/source-suite.ts';
import { namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import { BusError, SUBJECTS } from '../bus/bus.ts';
import { packRows, writeBatch, writeHead } from '../message/batch.ts';
import { startResponder } from '../publish/responder.ts';
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

it('does not take pages of a snapshot for a proof of where the log ends', async () => {
  let now = 1_000;
  const clock = (): number => now;
  const broker = createMemoryBroker();
  const [control, node] = [broker.connect('control'), broker.connect('node')];
  const origin = createFakeSource(50, clock);
  const stop = startResponder({ source: origin, end: testEnd(control, clock) });
  const rpc = testRpc(node, 'fra1', clock);
  const source = openBusSource({ bus: node, rpc, verifier, keys: () => testKeys, clock });
  origin.write(namespaceUpserted('ns'));
  const { epoch, head } = await source.bounds();
  // Nobody publishes: nothing comes live, and no heartbeat.
  now = 4_000;
  const { pages, end } = await source.openSnapshot();
  for await (const _page of pages) assert.equal(source.heardAt(), 4_000);
  origin.write(upserted('a.ns.v1'));
  const after = await source.since(epoch, head, 10);
  assert.deepEqual(
    after.map(({ seq }) => seq),
    [2],
  );
  origin.write(upserted('b.ns.v1'));
  assert.equal((await end()).head, 3);
  assert.equal((await source.bounds()).head, 3);
  source.close();
  stop();
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
