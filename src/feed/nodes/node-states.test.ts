import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, NOW, nodeEnd, RING } from '../../../test/support/feed/exchange/nodes.ts';
import { SUBJECTS } from '../bus/bus.ts';
import { makeNkey, nkeyKeys } from '../bus/nats/nkey.ts';
import {
  collectNodeStates,
  isNodeBehind,
  type NodeState,
  type NodeStates,
  STATE_MS,
  startStateReports,
} from './node-states.ts';
import { verifiersOf } from './nodes.ts';

const STATE: NodeState = {
  boot: 'a1',
  version: '1.2.3',
  seq: 42,
  seqSeconds: 0.25,
  epoch: 'epoch',
  lag: { changes: 3, seconds: 0.5 },
  heartbeatSeconds: 0.2,
  stale: false,
  keyTags: { 'public.v1': [1, 65_535] },
  readyTags: { 'public.v1': [1] },
  viewSeconds: 7.5,
  spoolOctets: 0,
};

function world() {
  let now = NOW;
  let elapsed = 0;
  const timers = createManualTimers();
  const broker = createMemoryBroker(() => 0.5, timers);
  const refused: string[] = [];
  let names: readonly string[] = ['node1', 'node2'];
  let openings = 0;
  const end = controlEnd(broker.connect(), {
    clock: () => now,
    onRefused: (reason) => refused.push(reason),
    ring() {
      openings++;
      return RING;
    },
  });
  const states: NodeStates = collectNodeStates({ end, names: () => names, elapsed: () => elapsed });
  const bus = broker.connect();
  const sent: Uint8Array[] = [];
  const tapped = {
    ...bus,
    publish(subject: string, data: Uint8Array) {
      sent.push(data);
      bus.publish(subject, data);
    },
  };
  return {
    broker,
    states,
    refused,
    sent,
    bus: tapped,
    node: nodeEnd(tapped, 'node1', { clock: () => now }),
    timers,
    opened: () => openings,
    arrived: () => timers.advance(1),
    pass: (ms: number) => {
      now += ms;
      elapsed += ms;
    },
    /** The clocks of node and control alone. */
    step: (ms: number) => {
      now += ms;
    },
    remove: (name: string) => {
      names = names.filter((one) => one !== name);
    },
    replay: (data: Uint8Array) => bus.publish(`${SUBJECTS.state}.node1`, data),
  };
}

describe('states of nodes', () => {
  it('that come too often are not even decrypted, and the next ones count again', async () => {
    const { node, states, arrived, pass, opened } = world();
    for (let seq = 1; seq <= 50; seq++) {
      pass(1);
      node.tell('state', { ...STATE, seq });
      await arrived();
    }
    assert.deepEqual([opened(), states.list()[0]!.state!.seq], [40, 40]);
    pass(5_000);
    node.tell('state', { ...STATE, seq: 51 });
    await arrived();
    assert.equal(states.list()[0]!.state!.seq, 51);
  });

  it('of a release that does not tell which keys are ready have all as ready', async () => {
    const { node, states, arrived } = world();
    const { readyTags: _, ...earlier } = STATE;
    node.tell('state', earlier);
    await arrived();
    const [report] = states.list();
    assert.deepEqual(report!.state, { ...STATE, readyTags: STATE.keyTags });
  });

  it('say whether a new key may sign: once it is ready, and the node is not late', async () => {
    const { node, states, arrived, pass } = world();
    const behind = (): boolean[] => {
      const [report] = states.list();
      return [1, 65_535, 7].map((tag) => isNodeBehind(report!, 'public.v1', tag));
    };
    assert.deepEqual(behind(), [true, true, true]);
    node.tell('state', STATE);
    await arrived();
    assert.deepEqual(behind(), [false, true, true]);
    assert.equal(isNodeBehind(states.list()[0]!, 'public.v2', 1), true);
    pass(15_001);
    assert.deepEqual(behind(), [true, true, true]);
  });

  it('control has the newest of each node, and knows who is late', async () => {
    const { node, states, arrived, pass } = world();
    node.tell('state', STATE);
    await arrived();
    assert.deepEqual(states.list(), [
      { name: 'node1', state: STATE, appliedAt: NOW - 250, seconds: 0, late: false },
      { name: 'node2', state: null, appliedAt: null, seconds: 0, late: false },
    ]);
    pass(15_000);
    assert.deepEqual(
      states.list().map(({ late }) => late),
      [false, false],
    );
    pass(1);
    assert.deepEqual(
      states.list().map(({ late }) => late),
      [true, true],
    );
    node.tell('state', { ...STATE, seq: 43 });
    await arrived();
    assert.deepEqual(
      states.list().map(({ state, late }) => [state?.seq, late]),
      [
        [43, false],
        [undefined, true],
      ],
    );
  });

  it('an older state that comes again is refused, also that of an earlier start', async () => {
    const { node, states, arrived, pass, step, sent, replay, refused } = world();
    for (const [boot, seq] of [
      ['a', 1],
      ['a', 2],
      ['b', 3],
    ] as const) {
      node.tell('state', { ...STATE, boot, seq });
      await arrived();
      pass(1);
    }
    for (const message of sent) replay(message);
    await arrived();
    assert.deepEqual(refused, ['replayed', 'replayed', 'replayed']);
    assert.equal(states.list()[0]?.state?.seq, 3);
    // A clock that was set back before a start does not hide the node.
    step(-3_600_000);
    node.tell('state', { ...STATE, boot: 'c', seq: 4 });
    await arrived();
    assert.equal(states.list()[0]?.state?.seq, 4);
  });

  it('a clock that was ahead, and is right again, does not hide the node: its states have numbers', async () => {
    const { bus, node, states, timers, arrived, pass, step, sent, replay, refused } = world();
    let seq = 1;
    const reports = startStateReports({
      bus,
      rpc: node,
      state: () => ({ ...STATE, seq }),
      onKeys: () => () => {},
      onError: (error) => assert.fail(String(error)),
      timers,
    });
    step(3_600_000);
    await timers.advance(STATE_MS);
    step(-3_600_000);
    seq = 2;
    await timers.advance(STATE_MS);
    assert.equal(states.list()[0]?.state?.seq, 2);
    pass(15_001);
    assert.equal(states.list()[0]?.late, true, 'nor does it make one that is silent look alive');
    for (const message of sent) replay(message);
    await arrived();
    assert.deepEqual(refused, ['replayed', 'replayed', 'replayed']);
    await reports.stop();
  });

  it('a removed node is not listed, and not heard', async () => {
    const { node, states, arrived, remove } = world();
    node.tell('state', STATE);
    await arrived();
    remove('node1');
    assert.deepEqual(
      states.list().map(({ name }) => name),
      ['node2'],
    );
  });

  it('a body that is no state is refused, and changes nothing', async () => {
    const { node, states, arrived, refused, pass } = world();
    const bad: unknown[] = [
      null,
      [],
      'x',
      ...(
        [
          ['boot', ''],
          ['boot', 'x'.repeat(65)],
          ['version', 'a\nb'],
          ['version', 1],
          ['seq', -1],
          ['seq', 1.5],
          ['epoch', 7],
          ['lag', null],
          ['lag', { changes: 1 }],
          ['heartbeatSeconds', -1],
          ['stale', 'no'],
          ['keyTags', []],
          ['keyTags', { zone: [65_536] }],
          ['keyTags', { zone: new Array(17).fill(1) }],
          ['keyTags', { zone: 1 }],
          ['readyTags', { zone: 1 }],
          ['keyTags', { ['x'.repeat(256)]: [1] }],
          ['keyTags', Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`z${i}`, []]))],
          ['spoolOctets', 0.5],
        ] as const
      ).map(([member, value]) => ({ ...STATE, [member]: value })),
    ];
    for (const body of bad) {
      node.tell('state', body);
      pass(1);
    }
    await arrived();
    assert.deepEqual(
      refused,
      bad.map(() => 'format'),
    );
    assert.equal(states.list()[0]?.state, null);
  });

  it('a node reports at its start, every five seconds, and after each connection', async () => {
    const { node, sent, bus, broker, timers } = world();
    const reports = startStateReports({
      bus,
      rpc: node,
      state: () => STATE,
      onKeys: () => () => {},
      onError: (error) => assert.fail(String(error)),
      timers,
    });
    assert.equal(sent.length, 1);
    await timers.advance(STATE_MS);
    assert.equal(sent.length, 2);
    broker.stop();
    broker.start();
    assert.equal(sent.length, 3);
    await reports.stop();
    await timers.advance(STATE_MS);
    assert.equal(sent.length, 3);
  });

  it('a node whose view moves reports 100 ms later, and once a second while it moves', async () => {
    const { node, sent, bus, timers } = world();
    const reports = startStateReports({
      bus,
      rpc: node,
      state: () => STATE,
      onKeys: () => () => {},
      onError: (error) => assert.fail(String(error)),
      timers,
      soon: timers,
    });
    const told = async (ms: number): Promise<number> => {
      const before = sent.length;
      await timers.advance(ms);
      return sent.length - before;
    };
    reports.moved();
    assert.equal(await told(99), 0);
    reports.moved();
    assert.equal(await told(1), 1);
    reports.moved();
    reports.moved();
    assert.equal(await told(999), 0);
    assert.equal(await told(1), 1);
    // Nothing moved: the next is that of every five seconds.
    assert.equal(await told(2_000), 0);
    reports.moved();
    assert.equal(await told(100), 1);
    reports.moved();
    await reports.stop();
    assert.equal(await told(10_000), 0);
    assert.deepEqual(timers.pending(), []);
  });

  it('a state of a release that does not tell when its view moved is taken', async () => {
    const { node, states, arrived, refused } = world();
    const heard: number[] = [];
    const stop = states.onHeard(() => heard.push(states.list()[0]!.state!.seq));
    const { seqSeconds: _, ...older } = STATE;
    node.tell('state', older);
    await arrived();
    assert.deepEqual(states.list()[0]!.state, { ...STATE, seqSeconds: null });
    stop();
    node.tell('state', { ...STATE, seq: 43 });
    await arrived();
    assert.deepEqual([heard, refused.length], [[STATE.seq], 1]);
  });

  it('the keys of nodes are those in the file now', async () => {
    const [one, other] = [await makeNkey(), await makeNkey()];
    let nodes = [{ name: 'a', nkey: one.publicKey }];
    const keyOf = verifiersOf(() => nodes, verifier);
    const signs = (seed: string): boolean => {
      const signer = nkeyKeys(seed)!.signer;
      const key = keyOf('a');
      if (key === null) return false;
      try {
        key.open(signer.sign(Buffer.from('x')), () => signer.id);
        return true;
      } catch {
        return false;
      }
    };
    assert.deepEqual([signs(one.seed), signs(other.seed)], [true, false]);
    nodes = [{ name: 'a', nkey: other.publicKey }];
    assert.deepEqual([signs(one.seed), signs(other.seed)], [false, true]);
    nodes = [{ name: 'a', nkey: 'damaged' }];
    assert.equal(keyOf('a'), null);
    nodes = [];
    assert.equal(keyOf('a'), null);
  });
});
