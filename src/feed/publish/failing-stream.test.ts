import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { verifier } from '../../../test/support/feed/batch/messages.ts';
import { feedScenario, NAMESPACE, publishOne } from '../../../test/support/feed/bus/feed-scenario.ts';
import { type FeedWorld, liveBatches } from '../../../test/support/feed/bus/feed-world.ts';
import { NO_FAULTS } from '../../../test/support/feed/bus/memory-bus.ts';
import { openBatch } from '../message/batch.ts';

/** While the stream fails: more waits for it than is kept. */
async function writeMoreThanIsKept(world: FeedWorld): Promise<void> {
  world.broker.streamFails = true;
  for (let i = 0; i < 300; i++) {
    world.origin.write(NAMESPACE);
    await world.timers.advance(25);
  }
}

describe('the publisher of a stream that fails', () => {
  feedScenario('live goes on while the stream fails; afterwards the stream has everything', async (world) => {
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

  feedScenario('when more waits than is kept, the log is read again', async (world) => {
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

  feedScenario('what is read again for the stream is unconfirmed until the stream has it', async (world) => {
    const publisher = world.publish('a');
    await world.timers.advance(100);
    await writeMoreThanIsKept(world);
    world.broker.streamFails = false;
    const stored = (): number => {
      const last = world.broker.stream.at(-1);
      return last === undefined ? 0 : openBatch(last.data, verifier).to;
    };
    let sent = 0;
    for (let ms = 0; ms < 3_000; ms++) {
      // The log is not read at once while changes are gathered.
      if (ms % 10 === 0 && ms < 2_000) world.origin.write(NAMESPACE);
      await world.timers.advance(1);
      const { seq, unconfirmed } = publisher.status();
      sent = Math.max(sent, seq ?? 0);
      if (unconfirmed === 0) assert.equal(stored(), sent, `${ms} ms after the stream was back`);
    }
    assert.ok(world.events.includes('rewound'));
    assert.equal(publisher.status().unconfirmed, 0);
    assert.deepEqual(world.streamLine(), { from: 1, to: 500 });
  });

  feedScenario(
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

  feedScenario(
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

  feedScenario(
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
    feedScenario(
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

  feedScenario('a stream that was lost begins again with what it lacks', async (world) => {
    await publishOne(world);
    world.broker.loseStream();
    world.origin.write(NAMESPACE);
    await world.timers.advance(5_000);
    assert.deepEqual(world.streamLine(), { from: 2, to: 2 });
    assert.ok(world.events.includes('rewound'));
  });

  feedScenario(
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
});
