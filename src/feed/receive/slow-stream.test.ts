/** Nodes that miss what came live, while the stream answers nobody, as without a leader. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFeedWorld, type FeedWorld, type Node } from '../../../test/support/feed/bus/feed-world.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { SUBJECTS } from '../bus/bus.ts';

const NODES = 20;

function namespace(name: string): ChangeBody {
  const id = '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d';
  const flags = { publicRead: true, suspended: false, recordsCount: 0, createdAt: 0, updatedAt: 0 };
  return { type: 'namespace.upserted', namespace: name, id, ...flags };
}

interface LostLive {
  readonly world: FeedWorld;
  readonly nodes: readonly Node[];
  /** Questions for changes that reached control. */
  readonly questions: () => number;
  /** Control answers no questions for changes. */
  readonly setControlAway: (isAway: boolean) => void;
  readonly write: (name: string) => Promise<void>;
}

/** Nodes that have the log, and hear of later changes by heartbeats alone. */
async function lostLive(count: number): Promise<LostLive> {
  const world = createFeedWorld();
  world.publish('a');
  world.origin.write(namespace('first'));
  await world.timers.advance(1_000);
  const nodes = Array.from({ length: count }, (_, i) => world.node(`n${i}`));
  await world.timers.advance(1_000);
  assertSame({ world, nodes });
  const sinceBefore = world.origin.calls.since;
  let own = 0;
  let isAway = false;
  world.broker.bend = (subject, data, to) => {
    if (subject === SUBJECTS.live) return null;
    if (isAway && to.startsWith('n') && subject.startsWith(SUBJECTS.get)) return null;
    if (to.startsWith('n') && subject.startsWith(SUBJECTS.get)) own++;
    return data;
  };
  assert.ok(sinceBefore > 0);
  return {
    world,
    nodes,
    questions: () => own,
    setControlAway(is) {
      isAway = is;
    },
    async write(name) {
      world.origin.write(namespace(name));
      // The next heartbeat tells of it.
      await world.timers.advance(500);
    },
  };
}

function assertSame({ world, nodes }: Pick<LostLive, 'world' | 'nodes'>): void {
  const wanted = world.origin.state();
  for (const { view } of nodes) {
    assert.equal(view.cursor(), wanted.cursor);
    assert.deepEqual(view.state.namespaces, wanted.namespaces);
  }
}

describe('nodes that miss a live change while the stream answers nobody', () => {
  it('have it from control within 250 ms, with one question each', async () => {
    const { world, nodes, questions, write } = await lostLive(NODES);
    world.broker.streamFails = true;
    for (const name of ['one', 'two', 'three']) {
      const before = questions();
      await write(name);
      await world.timers.advance(250);
      assertSame({ world, nodes });
      assert.equal(questions() - before, NODES);
    }
    for (const { repairs } of nodes) assert.deepEqual(repairs.slice(-3), ['control', 'control', 'control']);
    world.broker.streamFails = false;
    await world.timers.advance(2_000);
    await write('four');
    await world.timers.advance(250);
    assertSame({ world, nodes });
    for (const { repairs } of nodes) assert.equal(repairs.at(-1), 'stream', 'it spares control again');
    await world.close();
  });

  it('have it from the stream when control is away and the stream is late', async () => {
    const { world, nodes, setControlAway, write } = await lostLive(1);
    setControlAway(true);
    world.broker.streamFails = true;
    await write('one');
    await world.timers.advance(300);
    world.broker.streamFails = false;
    await world.timers.advance(1_700);
    assertSame({ world, nodes });
    assert.equal(nodes[0]!.repairs.at(-1), 'stream');
    await world.close();
  });

  for (const back of ['the stream', 'control'] as const) {
    it(`change nothing while control is away too, and follow when ${back} is back`, async () => {
      const { world, nodes, setControlAway, write } = await lostLive(1);
      const cursor = nodes[0]!.view.cursor();
      setControlAway(true);
      world.broker.streamFails = true;
      await write('one');
      await world.timers.advance(10_000);
      assert.equal(nodes[0]!.view.cursor(), cursor);
      if (back === 'control') setControlAway(false);
      else world.broker.streamFails = false;
      await world.timers.advance(4_000);
      assertSame({ world, nodes });
      await world.close();
    });
  }

  it('take nothing of the old log when that becomes another one while the stream is read', async () => {
    const { world, nodes, setControlAway, write } = await lostLive(1);
    const { source, view } = nodes[0]!;
    setControlAway(true);
    world.broker.streamFails = true;
    await write('old');
    // Control, which is away, is asked too.
    const found = source.since(view.epoch()!, view.cursor()!, 100).catch(() => []);
    await world.timers.advance(50);
    world.origin.epoch = 'restored';
    // A heartbeat of the new log comes before the stream answers.
    await world.timers.advance(1_000);
    world.broker.streamFails = false;
    await world.timers.advance(5_000);
    assert.deepEqual(await found, []);
    await world.close();
  });

  it('ask control nothing after the source was closed', async () => {
    const { world, nodes, questions, write } = await lostLive(1);
    const { source, view } = nodes[0]!;
    world.broker.streamFails = true;
    await write('one');
    const before = questions();
    const failed = assert.rejects(source.since(view.epoch()!, view.cursor()!, 100), { reason: 'closed' });
    source.close();
    await world.timers.advance(5_000);
    await failed;
    assert.equal(questions(), before);
    await assert.rejects(source.bounds(), { reason: 'closed' });
    await world.close();
  });
});
