import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { verifier } from '../../../test/support/feed/batch/messages.ts';
import {
  createFeedWorld,
  type FeedWorld,
  liveBatches,
  START,
} from '../../../test/support/feed/bus/feed-world.ts';
import { NO_FAULTS } from '../../../test/support/feed/bus/memory-bus.ts';
import { namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import { LIMITS } from '../../base/limits.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { SUBJECTS } from '../bus/bus.ts';
import { NO_HASH, openBatch, openHeartbeat } from '../message/batch.ts';

const NAMESPACE = namespaceUpserted('acme', true);

/** As long as a record can be, and they do not compress. */
const longRecords = (count: number): ChangeBody[] =>
  Array.from({ length: count }, (_, i) =>
    upserted(`k${i}.doc.acme.v1`, '', { data: randomBytes(LIMITS.recordData).toString('base64') }),
  );

/** A publisher that has sent one change. */
async function publishOne(world: FeedWorld): Promise<void> {
  world.publish('a');
  await world.timers.advance(100);
  world.origin.write(NAMESPACE);
  await world.timers.advance(100);
}

/** While the stream fails: more waits for it than is kept. */
async function writeMoreThanIsKept(world: FeedWorld): Promise<void> {
  world.broker.streamFails = true;
  for (let i = 0; i < 300; i++) {
    world.origin.write(NAMESPACE);
    await world.timers.advance(25);
  }
}

const scenario = (title: string, run: (world: FeedWorld) => Promise<void>): void => {
  it(title, async () => {
    const world = createFeedWorld();
    try {
      await run(world);
    } finally {
      await world.close();
    }
  });
};

describe('the publisher', () => {
  scenario('sends each commit live and into the stream, the same bytes', async (world) => {
    const live: Uint8Array[] = [];
    world.broker.connect('listener').subscribe(SUBJECTS.live, (message) => live.push(message));
    const publisher = world.publish('a');
    await world.timers.advance(100);
    world.origin.write(NAMESPACE, NAMESPACE);
    await world.timers.advance(100);
    world.origin.write(NAMESPACE);
    await world.timers.advance(100);
    assert.deepEqual(world.streamLine(), { from: 1, to: 3 });
    assert.deepEqual(
      live,
      world.broker.stream.map(({ data }) => data),
    );
    assert.deepEqual(publisher.status(), { seq: 3, unconfirmed: 0 });
  });

  scenario('cuts what is written at once into batches of which many wait at a broker', async (world) => {
    world.publish('a');
    await world.timers.advance(100);
    world.origin.write(...longRecords(200));
    await world.timers.advance(1_000);
    assert.deepEqual(world.streamLine(), { from: 1, to: 200 });
    const lengths = world.broker.stream.map(({ data }) => data.length);
    assert.ok(lengths.length > 1 && Math.max(...lengths) < 1.05 * LIMITS.feedStreamOctets, lengths.join());
  });

  scenario(
    'reads the bounds of a heartbeat before the changes that it sends with it (F12)',
    async (world) => {
      const order: string[] = [];
      world.publish('a');
      await world.timers.advance(1_000);
      world.origin.before = (call) => void order.push(call);
      const listener = world.broker.connect('listener');
      listener.subscribe(SUBJECTS.head, () => void order.push('head'));
      listener.subscribe(SUBJECTS.live, () => void order.push('live'));
      world.origin.announcing = false;
      await world.timers.advance(5_000);
      const heads = order.flatMap((what, at) => (what === 'head' ? [at] : []));
      assert.ok(heads.length >= 9);
      for (const at of heads.slice(1)) {
        const before = order.slice(0, at);
        // A change that is committed between the two is sent, and not told of yet: never the other way round.
        assert.ok(
          before.lastIndexOf('bounds') < before.lastIndexOf('since'),
          order.slice(at - 4, at + 1).join(),
        );
      }
    },
  );

  scenario(
    'gives a heartbeat the time of its bounds: a batch that was sent since is newer',
    async (world) => {
      const heads: { head: number; at: number; last: number; sentAt: number }[] = [];
      let last = { to: 0, at: 0 };
      const listener = world.broker.connect('listener');
      listener.subscribe(SUBJECTS.live, (message) => {
        last = openBatch(message, verifier);
      });
      listener.subscribe(SUBJECTS.head, (message) => {
        const { head, at } = openHeartbeat(message, verifier, {
          last: 0,
          now: START + world.timers.now + looks,
        });
        heads.push({ head, at, last: last.to, sentAt: last.at });
      });
      let isBetween = false;
      let looks = 0;
      world.origin.announcing = false;
      // Committed behind the bounds.
      world.origin.before = (call) => {
        if (call === 'since' && isBetween) world.origin.write(NAMESPACE);
        isBetween = call === 'bounds';
      };
      // To encrypt and to sign takes time: no two looks at the clock are alike.
      Object.defineProperty(world, 'controlClockError', { get: () => looks++ });
      world.publish('a');
      await world.timers.advance(5_000);
      const behind = heads.filter(({ head, last: to }) => to > head);
      assert.ok(behind.length > 2, `${behind.length}`);
      // Else a node that has the batch takes the log for one that was set back, and builds its view again.
      for (const { at, sentAt } of behind) assert.ok(sentAt >= at, `${sentAt} is before ${at}`);
    },
  );

  scenario('names no predecessor behind a part of the log that was pruned (F13)', async (world) => {
    const previous: string[] = [];
    world.broker.connect('listener').subscribe(SUBJECTS.live, (message) => {
      const { from, previous: hash } = openBatch(message, verifier);
      previous.push(`${from} ${Buffer.compare(hash, NO_HASH) === 0 ? 'none' : 'tip'}`);
    });
    world.publish('a');
    for (let commit = 0; commit < 2; commit++) {
      await world.timers.advance(1_000);
      world.origin.write(NAMESPACE);
    }
    await world.timers.advance(1_000);
    // The publisher was held up, and what it had not sent was pruned meanwhile.
    world.origin.bend = (changes) => changes.filter(({ seq }) => seq > 4);
    world.origin.write(NAMESPACE, NAMESPACE, NAMESPACE);
    await world.timers.advance(1_000);
    assert.deepEqual(previous, ['1 none', '2 tip', '5 none']);
  });

  scenario('a lost wake-up costs no more than a poll', async (world) => {
    world.publish('a');
    await world.timers.advance(100);
    world.origin.announcing = false;
    world.origin.write(NAMESPACE);
    await world.timers.advance(250);
    assert.deepEqual(world.streamLine(), { from: 1, to: 1 });
  });

  scenario(
    'heartbeats come twice a second, with the bounds of the log, after the batches that they tell of',
    async (world) => {
      const order: string[] = [];
      const listener = world.broker.connect('listener');
      listener.subscribe(SUBJECTS.live, () => order.push('live'));
      listener.subscribe(SUBJECTS.head, (message) => {
        const { head, oldest, epoch } = openHeartbeat(message, verifier, {
          last: 0,
          now: START + world.timers.now,
        });
        order.push(`${epoch} ${oldest}-${head}`);
      });
      world.publish('a');
      await world.timers.advance(450);
      world.origin.announcing = false;
      world.origin.write(NAMESPACE);
      await world.timers.advance(60);
      assert.deepEqual(order, ['live', 'first 1-1']);
      await world.timers.advance(5_000);
      assert.equal(order.length, 12);
    },
  );

  scenario('while the log cannot be read there is no heartbeat', async (world) => {
    let heartbeats = 0;
    world.broker.connect('listener').subscribe(SUBJECTS.head, () => heartbeats++);
    world.publish('a');
    await world.timers.advance(1_100);
    const before = heartbeats;
    world.origin.before = () => {
      throw new Error('connection refused');
    };
    await world.timers.advance(5_000);
    assert.equal(heartbeats, before);
    world.origin.before = () => undefined;
    await world.timers.advance(2_000);
    assert.ok(heartbeats > before);
  });

  scenario('live goes on while the stream fails; afterwards the stream has everything', async (world) => {
    const live = liveBatches(world);
    const publisher = world.publish('a');
    await world.timers.advance(100);
    world.broker.streamFails = true;
    for (let i = 0; i < 5; i++) {
      world.origin.write(NAMESPACE);
      await world.timers.advance(30);
    }
    assert.deepEqual(live, ['1-1', '2-2', '3-3', '4-4', '5-5']);
    assert.deepEqual([publisher.status().unconfirmed, world.streamLine()], [5, null]);
    world.broker.streamFails = false;
    await world.timers.advance(5_000);
    assert.deepEqual(world.streamLine(), { from: 1, to: 5 });
    assert.equal(live.length, 5, 'nothing is sent twice');
  });

  scenario('a change after a pause goes at once, those soon after it together', async (world) => {
    const live = liveBatches(world);
    world.publish('a');
    await world.timers.advance(100);
    for (let i = 0; i < 10; i++) {
      world.origin.write(NAMESPACE);
      await world.timers.advance(1);
      if (i === 0) assert.deepEqual(live, ['1-1']);
    }
    await world.timers.advance(20);
    assert.deepEqual(live, ['1-1', '2-10']);
  });

  scenario('when more waits than is kept, the log is read again', async (world) => {
    const publisher = world.publish('a');
    await world.timers.advance(100);
    world.origin.write(NAMESPACE);
    await world.timers.advance(100);
    await writeMoreThanIsKept(world);
    assert.equal(publisher.status().unconfirmed, 300, 'also those that are no longer kept');
    world.broker.streamFails = false;
    await world.timers.advance(10_000);
    assert.ok(world.events.includes('rewound'));
    assert.deepEqual(world.streamLine(), { from: 1, to: 301 });
    assert.equal(publisher.status().unconfirmed, 0);
  });

  scenario(
    'the same when the stream has lost its messages by their age: it gets what it lacks',
    async (world) => {
      await publishOne(world);
      await writeMoreThanIsKept(world);
      world.broker.purge(1);
      world.broker.streamFails = false;
      await world.timers.advance(10_000);
      assert.deepEqual(world.streamLine(), { from: 2, to: 301 });
    },
  );

  scenario(
    'an end that cannot be read is not the one from before, which could not be read either',
    async (world) => {
      const stranger = world.broker.connect('stranger');
      void stranger.append(Buffer.from('no batch'), 0);
      await world.timers.advance(100);
      world.publish('a');
      await world.timers.advance(100);
      await writeMoreThanIsKept(world);
      world.broker.streamFails = false;
      void stranger.append(Buffer.from('another'), 1);
      await world.timers.advance(10_000);
      assert.ok(world.events.includes('conflict'));
      assert.ok(!world.events.includes('rewound'), 'what others have appended since would be sent again');
    },
  );

  scenario(
    'begins live while the stream cannot be read, and closes the stream when it can',
    async (world) => {
      await publishOne(world);
      world.lock.revoke();
      world.broker.streamFails = true;
      const live = liveBatches(world);
      world.origin.write(NAMESPACE);
      await world.timers.advance(4_000);
      world.origin.write(NAMESPACE);
      await world.timers.advance(100);
      assert.ok(live.includes('3-3'), live.join());
      world.broker.streamFails = false;
      await world.timers.advance(5_000);
      assert.deepEqual(world.streamLine(), { from: 1, to: 3 });
    },
  );

  for (const fault of ['appendLost', 'ackLost'] as const) {
    scenario(
      `with every third append failing (${fault}) the stream has no gap and no overlap`,
      async (world) => {
        world.broker.faults = { ...NO_FAULTS, [fault]: 0.33 };
        world.publish('a');
        // An empty stream begins at the head of the log.
        await world.timers.advance(3_000);
        for (let i = 0; i < 30; i++) {
          world.origin.write(NAMESPACE);
          await world.timers.advance(300);
        }
        world.broker.faults = NO_FAULTS;
        await world.timers.advance(20_000);
        assert.deepEqual(world.streamLine(), { from: 1, to: 30 });
        assert.ok(!world.events.includes('conflict'));
      },
    );
  }

  scenario('a stream that was lost begins again with what it lacks', async (world) => {
    await publishOne(world);
    world.broker.loseStream();
    world.origin.write(NAMESPACE);
    await world.timers.advance(5_000);
    assert.deepEqual(world.streamLine(), { from: 2, to: 2 });
    assert.ok(world.events.includes('rewound'));
  });

  scenario(
    'a stream that is empty after its time goes on, for the same publisher and for the next',
    async (world) => {
      await publishOne(world);
      world.broker.purge(1);
      world.broker.faults = { ...NO_FAULTS, ackLost: 1 };
      world.origin.write(NAMESPACE);
      await world.timers.advance(500);
      world.broker.faults = NO_FAULTS;
      await world.timers.advance(5_000);
      assert.deepEqual(world.streamLine(), { from: 2, to: 2 });
      world.broker.purge(2);
      world.lock.revoke();
      await world.timers.advance(3_000);
      world.origin.write(NAMESPACE);
      await world.timers.advance(3_000);
      assert.deepEqual(world.streamLine(), { from: 3, to: 3 });
      assert.ok(!world.events.includes('conflict'), world.events.join());
    },
  );

  scenario('of two, one publishes; when it stops the other goes on where the stream ends', async (world) => {
    const first = world.publish('a');
    const second = world.publish('b');
    await world.timers.advance(100);
    world.origin.write(NAMESPACE);
    await world.timers.advance(100);
    assert.deepEqual([first.status().seq, second.status().seq], [1, null]);
    const stopped = first.stop();
    world.origin.write(NAMESPACE);
    await world.timers.advance(2_000);
    await stopped;
    assert.deepEqual([first.status().seq, second.status().seq], [null, 2]);
    assert.deepEqual(world.streamLine(), { from: 1, to: 2 });
  });

  scenario(
    'a leader that does not know that it lost the lock meets a conflict and steps back',
    async (world) => {
      world.publish('a');
      world.publish('b');
      await world.timers.advance(100);
      for (let round = 0; round < 5; round++) {
        world.lock.steal();
        for (let i = 0; i < 4; i++) {
          world.origin.write(NAMESPACE);
          await world.timers.advance(Math.floor(world.random() * 40));
        }
        await world.timers.advance(3_000);
      }
      assert.ok(world.events.includes('conflict'));
      assert.deepEqual(world.streamLine(), { from: 1, to: 20 });
    },
  );

  scenario('a log behind the stream is not published: it is an older database', async (world) => {
    const live = liveBatches(world);
    world.publish('a');
    await world.timers.advance(100);
    world.origin.write(NAMESPACE, NAMESPACE, NAMESPACE);
    await world.timers.advance(100);
    world.origin.restore(1);
    world.lock.revoke();
    world.origin.write(NAMESPACE);
    await world.timers.advance(3_000);
    assert.ok(world.events.includes('behind_stream'));
    assert.deepEqual(live, ['1-3']);
  });

  scenario('the log of another database begins a new line in the same stream', async (world) => {
    await publishOne(world);
    world.origin.epoch = 'second';
    world.origin.write(NAMESPACE);
    await world.timers.advance(100);
    assert.deepEqual(world.streamLine(), { from: 1, to: 1 }, 'nothing of it is signed as of the other one');
    await world.timers.advance(3_000);
    world.origin.write(NAMESPACE);
    await world.timers.advance(3_000);
    const { epoch, to } = openBatch(world.broker.stream.at(-1)!.data, verifier);
    assert.deepEqual([epoch, to], ['second', 3]);
  });
});
