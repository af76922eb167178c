import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFeedWorld, type FeedWorld, type Node } from '../../../test/support/feed/bus/feed-world.ts';
import { payloadText } from '../../../test/support/view/memory-view.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { SUBJECTS } from '../bus/bus.ts';

const SEEDS = 6;
const KEYS = 8;

const NAMESPACE: ChangeBody = {
  type: 'namespace.upserted',
  namespace: 'acme',
  id: '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d',
  publicRead: true,
  suspended: false,
  recordsCount: 0,
  createdAt: 0,
  updatedAt: 0,
};

function record(key: number, text: string): ChangeBody {
  const labels = { resource: 'doc', namespace: 'acme', version: 'v1' } as const;
  const data = Buffer.from(text).toString('base64');
  const rest = { contentType: 'text/plain', ttlSeconds: 300, expiresAt: null };
  return { type: 'record.upserted', key: `k${key}.doc.acme.v1`, ...labels, data, ...rest };
}

function anyChange(random: () => number): ChangeBody {
  const key = Math.floor(random() * KEYS);
  if (random() < 0.3) return { type: 'record.deleted', key: `k${key}.doc.acme.v1`, namespace: 'acme' };
  return record(key, `${random()}`);
}

function assertSame({ origin }: FeedWorld, ...nodes: readonly Node[]): void {
  const wanted = origin.state();
  for (const { view } of nodes) {
    assert.equal(view.cursor(), wanted.cursor);
    assert.deepEqual(view.state.records, wanted.records);
  }
}

/** A publisher, a node that has everything so far, and ten changes. */
async function settled(): Promise<{ world: FeedWorld; node: Node }> {
  const world = createFeedWorld();
  world.publish('a');
  const node = world.node('n1');
  world.origin.write(NAMESPACE);
  await world.timers.advance(2_000);
  for (let i = 0; i < 9; i++) {
    world.origin.write(anyChange(world.random));
    await world.timers.advance(50);
  }
  await world.timers.advance(2_000);
  assertSame(world, node);
  return { world, node };
}

describe('a node on a bus that fails', () => {
  it(`after any faults has the log, for ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      try {
        await anyFaults(seed);
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });

  async function anyFaults(seed: number): Promise<void> {
    const world = createFeedWorld(seed);
    const { broker, timers, random, origin, lock } = world;
    world.publish('a');
    world.publish('b');
    const nodes = [world.node('n1'), world.node('n2')];
    await timers.advance(1_000);
    broker.faults = { drop: 0.2, duplicate: 0.2, delayMs: 200, appendLost: 0.1, ackLost: 0.1 };
    origin.write(NAMESPACE);
    const harms: readonly (() => void)[] = [
      () => broker.stop(),
      () => broker.cut('n1'),
      () => broker.cut('a'),
      () => broker.loseStream(),
      () => lock.revoke(),
      () => lock.steal(),
      () => {
        broker.streamFails = true;
      },
      () => broker.purge((broker.stream.at(-1)?.seq ?? 0) - 2),
    ];
    for (let i = 0; i < 40; i++) {
      if (random() < 0.2) harms[Math.floor(random() * harms.length)]?.();
      if (random() < 0.3) {
        broker.start();
        for (const end of ['n1', 'a']) broker.heal(end);
        broker.streamFails = false;
      }
      origin.write(...Array.from({ length: Math.floor(random() * 4) }, () => anyChange(random)));
      await timers.advance(Math.floor(random() * 400));
    }
    broker.start();
    for (const end of ['n1', 'a']) broker.heal(end);
    broker.streamFails = false;
    broker.faults = { drop: 0, duplicate: 0, delayMs: 0, appendLost: 0, ackLost: 0 };
    await timers.advance(15_000);
    assertSame(world, ...nodes);
    const line = world.streamLine();
    if (line !== null) assert.equal(line.to, origin.state().cursor);
    await world.close();
  }

  it('closes a hole from the stream, and without the stream by asking control', async () => {
    const { world, node } = await settled();
    const { broker, origin, timers } = world;
    broker.bend = (subject, data) => (subject === SUBJECTS.live ? null : data);
    const before = node.repairs.length;
    origin.write(record(1, 'one'));
    await timers.advance(1_000);
    assertSame(world, node);
    assert.deepEqual(node.repairs.slice(before), ['stream']);
    broker.bend = (subject, data) => (subject === SUBJECTS.live || subject === SUBJECTS.log ? null : data);
    origin.write(record(2, 'two'));
    await timers.advance(1_000);
    assertSame(world, node);
    assert.deepEqual(node.repairs.slice(before), ['stream', 'control']);
    await world.close();
  });

  it('gives nothing that control has pruned, although the stream has it yet (F09)', async () => {
    const world = createFeedWorld();
    world.publish('a');
    const node = world.node('n1');
    await world.timers.advance(1_000);
    for (let write = 0; write < 5; write++) {
      world.origin.write(NAMESPACE);
      await world.timers.advance(1_000);
    }
    assert.deepEqual(world.streamLine(), { from: 1, to: 5 });
    world.origin.prune(2);
    await world.timers.advance(1_000);
    const asked = node.source.since(world.origin.epoch, 0, 10);
    await world.timers.advance(5_000);
    assert.deepEqual(
      (await asked).map(({ seq }) => seq),
      [3, 4, 5],
    );
    await world.close();
  });

  it('a batch that is overtaken within 100 ms costs no repair', async () => {
    const { world, node } = await settled();
    const { broker, origin, timers } = world;
    const held: (() => void)[] = [];
    const repairs = node.repairs.length;
    const sender = broker.connect('late');
    broker.bend = (subject, data, to) => {
      if (subject !== SUBJECTS.live || to !== 'n1' || held.length > 0) return data;
      held.push(() => sender.publish(SUBJECTS.live, data));
      return null;
    };
    origin.write(record(1, 'one'));
    await timers.advance(5);
    origin.write(record(2, 'two'));
    await timers.advance(50);
    held[0]!();
    await timers.advance(5);
    assertSame(world, node);
    await timers.advance(1_000);
    assert.equal(node.repairs.length, repairs);
    await world.close();
  });

  it('is away for a while: when it is back it waits for no batch that may be late, but reads on at once', async () => {
    const { world, node } = await settled();
    const { broker, origin, timers } = world;
    const isWaiting = (): boolean => timers.pending().some((ms) => ms > 90 && ms <= 100);
    broker.cut('n1');
    origin.write(...Array.from({ length: 2_500 }, (_, i) => record(i % KEYS, `${i}`)));
    await timers.advance(2_000);
    broker.heal('n1');
    let waits = 0;
    while (waits === 0 && node.view.cursor() !== origin.state().cursor) {
      // The follower itself waits 100 ms after a failure.
      const before = isWaiting();
      await timers.advance(1);
      if (!before && isWaiting() && node.repairs.length > 0) waits++;
    }
    assert.equal(waits, 0);
    assert.deepEqual(node.repairs.slice(-3), ['stream', 'stream', 'stream']);
    await world.close();
  });

  it('whose clock is set back while it waits for an overtaken batch asks elsewhere after 100 ms all the same', async () => {
    const { world, node } = await settled();
    const { broker, origin, timers } = world;
    // The heartbeat tells of a change that never comes live.
    broker.bend = (subject, data) => (subject === SUBJECTS.live ? null : data);
    origin.write(record(1, 'one'));
    while (node.view.cursor() === origin.state().cursor) await timers.advance(1);
    const { now } = timers;
    while (timers.now - now < 600 && !timers.pending().includes(99)) await timers.advance(1);
    world.nodeClockError = -3_600_000;
    broker.bend = (_subject, data) => data;
    origin.write(record(2, 'two'));
    await timers.advance(2_000);
    assertSame(world, node);
    await world.close();
  });

  it('with control away reads from the stream what it lacks, and does not count as current', async () => {
    const { world, node } = await settled();
    const { broker, origin, timers } = world;
    broker.cut('n1');
    origin.write(record(1, 'one'));
    await timers.advance(1_000);
    broker.cut('a');
    broker.heal('n1');
    const heardAt = node.source.heardAt();
    await timers.advance(10_000);
    assertSame(world, node);
    assert.equal(node.source.heardAt(), heardAt);
    const bounds = node.source.bounds();
    await timers.advance(3_000);
    assert.equal((await bounds).isCopy, true, 'another epoch there says nothing about control');
    broker.heal('a');
    await timers.advance(2_000);
    assert.notEqual(node.source.heardAt(), heardAt);
    await world.close();
  });
});

describe('a node on a hostile bus', () => {
  /** What the broker does to each message, and the reason that is counted. */
  const attacks: readonly (readonly [string, (data: Uint8Array) => Uint8Array, string])[] = [
    ['changes a bit of the rows', (data) => flipped(data, data.length - 80), 'signature'],
    ['changes the version', (data) => flipped(data, 4), 'version'],
    ['changes the signer', (data) => flipped(data, 8), 'signer'],
    ['cuts it', (data) => data.subarray(0, data.length - 1), 'signature'],
    ['cuts it to nothing', () => new Uint8Array(0), 'size'],
    ['sends something else', () => Buffer.alloc(300, 'x'), 'format'],
    ['sends more than a message', () => Buffer.alloc(1_000_001), 'size'],
  ];
  for (const [name, attack, reason] of attacks) {
    it(`that ${name} of everything: no view changes, and it is counted`, async () => {
      const { world, node } = await settled();
      const { broker, origin, timers } = world;
      const state = contents(node);
      broker.bend = (_subject, data, to) => (to === 'n1' ? new Uint8Array(attack(data)) : data);
      const heardAt = node.source.heardAt();
      origin.write(record(1, 'forged'));
      await timers.advance(5_000);
      assert.deepEqual(contents(node), state);
      assert.ok(node.refused.includes(reason as never), `${node.refused.join()}`);
      assert.equal(node.source.heardAt(), heardAt, 'not current');
      broker.bend = (_subject, data) => data;
      await timers.advance(5_000);
      assertSame(world, node);
      await world.close();
    });
  }

  it('that repeats old batches and heartbeats: no view changes, and the heartbeats are counted', async () => {
    const { world, node } = await settled();
    const { broker, origin, timers } = world;
    const old: { subject: string; data: Uint8Array }[] = [];
    const recorder = broker.connect('recorder');
    for (const subject of [SUBJECTS.live, SUBJECTS.head]) {
      recorder.subscribe(subject, (data) => old.push({ subject, data }));
    }
    origin.write(record(1, 'old'), record(2, 'old'));
    await timers.advance(1_000);
    origin.write(record(1, 'new'), record(2, 'new'));
    await timers.advance(1_000);
    for (const { subject, data } of [...old]) recorder.publish(subject, data);
    await timers.advance(1_000);
    assertSame(world, node);
    assert.ok(node.refused.includes('replayed'));
    await world.close();
  });

  it('that holds heartbeats back by more than ten seconds: they prove nothing', async () => {
    const { world, node } = await settled();
    const { broker, timers } = world;
    const delayed = broker.connect('delayed');
    broker.bend = (subject, data, to) => {
      if (subject !== SUBJECTS.head || to !== 'n1') return data;
      timers.after(10_600, () => {
        broker.bend = (_subject, sent) => sent;
        delayed.publish(SUBJECTS.head, data);
      });
      return null;
    };
    await timers.advance(10_550);
    const before = node.refused.length;
    broker.cut('a');
    await timers.advance(200);
    assert.deepEqual(node.refused.slice(before).includes('clock'), true);
    await world.close();
  });

  it('that puts pages of two snapshots together: the view is not built', async () => {
    const { world, node } = await settled();
    const { broker, timers, origin } = world;
    const recorded: Uint8Array[] = [];
    broker.bend = (subject, data) => {
      if (subject.startsWith(`${SUBJECTS.page}.`)) recorded.push(data);
      return data;
    };
    const other = world.node('n2');
    await timers.advance(2_000);
    assertSame(world, node, other);
    assert.ok(recorded.length > 0);
    origin.write(record(3, 'later'));
    broker.bend = (subject, data) => (subject.startsWith(`${SUBJECTS.page}.`) ? recorded[0]! : data);
    const third = world.node('n3');
    await timers.advance(3_000);
    assert.equal(third.view.cursor(), null);
    assert.ok(third.refused.includes('recipient'));
    await world.close();
  });
});

function contents({ view }: Node): unknown {
  const records = [...view.state.records].map(([key, record]) => [key, payloadText(record)]);
  return { cursor: view.cursor(), records };
}

function flipped(data: Uint8Array, at: number): Uint8Array {
  const changed = Buffer.from(data);
  if (at >= 0 && at < changed.length) changed[at]! ^= 1;
  return changed;
}
