import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { countingNonces } from '../../../test/support/feed/batch/keys.ts';
import { EPOCH, header, revocations, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, NOW, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { BusError } from '../bus/bus.ts';
import { packRows, writeBatch } from '../message/batch.ts';
import { feedVerifier } from '../message/keys.ts';
import { controlIdentity, controlRpc, operatorEnd } from '../message/rpc.ts';
import { collectNodeStates } from './node-states.ts';
import { askFeed, askNodes, type PublisherReport, startStatus } from './operator.ts';

const signing = generateKeyPairSync('ed25519');
const sign = signing.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
const identity = controlIdentity(sign);
const signed = feedVerifier([signing.publicKey]);
const BOUNDS = { epoch: EPOCH, head: 12, oldest: 1 };
const REPORT: PublisherReport = { seq: 12, unconfirmed: 1, conflicts: 2 };

function world() {
  let now = NOW;
  const timers = createManualTimers();
  const broker = createMemoryBroker(() => 0, timers);
  const refused: string[] = [];
  const clock = (): number => now;
  const rpc = (as = identity) =>
    controlRpc(as, { bus: broker.connect(), verifier: signed, random: countingNonces(), clock });
  const process = (publisher: () => PublisherReport | null) => {
    const bus = broker.connect();
    const onRefused = (reason: string): void => void refused.push(reason);
    const states = collectNodeStates({
      end: controlEnd(bus, { clock, onRefused }),
      names: () => ['node1', 'node2'],
      elapsed: clock,
    });
    return startStatus({
      end: operatorEnd(identity, signed, { bus, clock, onRefused, random: countingNonces() }),
      rpc: controlRpc(identity, { bus, verifier: signed, random: countingNonces(), clock }),
      verifier,
      states,
      publisher,
      bounds: async () => BOUNDS,
      snapshots: async () => [{ id: 'a', seq: 3, seconds: 60 }],
      timers,
    });
  };
  /** @param ahead of the clock of the process that publishes */
  const tell = async (ahead: number, report: PublisherReport): Promise<void> =>
    controlRpc(identity, {
      bus: broker.connect(),
      verifier: signed,
      random: countingNonces(),
      clock: () => now + ahead,
    }).tell('publisher', report);
  const settled = async <T>(asked: Promise<T>): Promise<T> => {
    asked.catch(() => {});
    await timers.advance(10);
    return asked;
  };
  const pass = (ms: number): void => {
    now += ms;
  };
  return { broker, timers, refused, rpc, process, tell, settled, pass };
}

describe('the status that control tells', () => {
  it('has every node, and whether it is late', async () => {
    const { process, rpc, settled, pass } = world();
    process(() => null);
    assert.deepEqual(await settled(askNodes(rpc())), [
      { name: 'node1', state: null, appliedAt: null, seconds: 0, late: false },
      { name: 'node2', state: null, appliedAt: null, seconds: 0, late: false },
    ]);
    pass(15_001);
    assert.ok((await settled(askNodes(rpc()))).every(({ late }) => late));
  });

  it('has log, stream, snapshots and publisher, also when another process publishes', async () => {
    const { broker, timers, process, rpc, settled } = world();
    const stop = process(() => null);
    const first = await settled(askFeed(rpc()));
    assert.deepEqual(first, {
      log: BOUNDS,
      publisher: null,
      stream: null,
      snapshots: [{ id: 'a', seq: 3, seconds: 60 }],
      nodes: 2,
      late: [],
    });
    const bus = broker.connect();
    for (const [i, [from, to]] of [
      [5, 7],
      [8, 12],
    ].entries()) {
      await settled(bus.append(writeBatch(header(), packRows(revocations(from!, to!))[0]!, secrets), i));
    }
    process(() => REPORT);
    await timers.advance(5_001);
    const { publisher, stream } = await settled(askFeed(rpc()));
    assert.deepEqual([publisher, stream], [REPORT, { from: 5, to: 12 }]);
    await stop();
    assert.deepEqual((await settled(askFeed(rpc()))).publisher, REPORT, 'asked of the publisher itself');
  });

  it('has the publisher until it was silent for 15 seconds, whatever clock it had; then that of another one', async () => {
    const { timers, process, rpc, settled, tell, refused, pass } = world();
    process(() => null);
    const shown = async (): Promise<number | undefined> => (await settled(askFeed(rpc()))).publisher?.seq;
    const clock = (ahead: number, seq: number): Promise<void> => settled(tell(ahead, { ...REPORT, seq }));
    await clock(59_000, 1);
    await clock(0, 2);
    assert.equal(await shown(), 1, 'a broker may repeat an old report');
    await timers.advance(14_900);
    assert.equal(await shown(), 1);
    // The clock of this process is set back: it was silent for as long.
    pass(-50_000);
    await timers.advance(200);
    assert.equal(await shown(), undefined);
    await clock(0, 3);
    assert.equal(await shown(), 3);
    assert.deepEqual(refused, []);
    await clock(60_001, 4);
    await clock(-60_001, 5);
    assert.deepEqual(refused, ['clock', 'clock']);
    assert.equal(await shown(), 3);
  });

  it('while the stream cannot be read, the rest is told', async () => {
    const { broker, process, rpc, timers } = world();
    process(() => REPORT);
    broker.streamFails = true;
    const asked = askFeed(rpc());
    await timers.advance(2_000);
    const { publisher, stream } = await asked;
    assert.deepEqual([publisher, stream], [REPORT, null]);
  });

  it('is told to holders of control’s credentials alone', async () => {
    const { broker, process, refused, rpc, timers } = world();
    process(() => null);
    const otherKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
    const asked = [
      askNodes(rpc(controlIdentity(otherKey.toString()))),
      // With the key that signs, but not the one that encrypts.
      askNodes(rpc({ ...identity, key: secrets.key })),
      nodeEnd(broker.connect(), 'node1').ask('status', 'nodes', 5_000),
    ];
    for (const one of asked) one.catch(() => {});
    await timers.advance(5_001);
    for (const one of asked) await assert.rejects(one, BusError);
    assert.deepEqual(refused, ['signer', 'key', 'signer']);
  });
});
