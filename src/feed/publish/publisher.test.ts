import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe } from 'node:test';
import { verifier } from '../../../test/support/feed/batch/messages.ts';
import { feedScenario, NAMESPACE, publishOne } from '../../../test/support/feed/bus/feed-scenario.ts';
import { liveBatches, START } from '../../../test/support/feed/bus/feed-world.ts';
import { upserted } from '../../../test/support/view/view-changes.ts';
import { LIMITS } from '../../base/limits.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { SUBJECTS } from '../bus/bus.ts';
import { NO_HASH, openBatch, openHeartbeat } from '../message/batch.ts';

/** As long as a record can be, and they do not compress. */
const longRecords = (count: number): ChangeBody[] =>
  Array.from({ length: count }, (_, i) =>
    upserted(`k${i}.doc.acme.v1`, '', { data: randomBytes(LIMITS.recordData).toString('base64') }),
  );

describe('the publisher', () => {
  feedScenario('sends each commit live and into the stream, the same bytes', async (world) => {
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

  feedScenario('cuts what is written at once into batches of which many wait at a broker', async (world) => {
    world.publish('a');
    await world.timers.advance(100);
    world.origin.write(...longRecords(200));
    await world.timers.advance(1_000);
    assert.deepEqual(world.streamLine(), { from: 1, to: 200 });
    const lengths = world.broker.stream.map(({ data }) => data.length);
    assert.ok(lengths.length > 1 && Math.max(...lengths) < 1.05 * LIMITS.feedStreamOctets, lengths.join());
  });

  feedScenario(
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

  feedScenario(
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

  feedScenario('names no predecessor behind a part of the log that was pruned (F13)', async (world) => {
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

  feedScenario('a lost wake-up costs no more than a poll', async (world) => {
    world.publish('a');
    await world.timers.advance(100);
    world.origin.announcing = false;
    world.origin.write(NAMESPACE);
    await world.timers.advance(250);
    assert.deepEqual(world.streamLine(), { from: 1, to: 1 });
  });

  feedScenario(
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

  feedScenario('while the log cannot be read there is no heartbeat', async (world) => {
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

  feedScenario('a change after a pause goes at once, those soon after it together', async (world) => {
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

  feedScenario(
    'of two, one publishes; when it stops the other goes on where the stream ends',
    async (world) => {
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
    },
  );

  feedScenario(
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

  feedScenario('a log behind the stream is not published: it is an older database', async (world) => {
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

  feedScenario('the log of another database begins a new line in the same stream', async (world) => {
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
