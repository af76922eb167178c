import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KeyWorld, keyWorld } from '../../../test/support/feed/keys/key-world.ts';
import { keysSubject } from '../bus/bus.ts';
import { feedKey } from '../message/keys.ts';
import { KeyMissingError } from './control-keys.ts';
import { endOf, holdKeys, keyPeriodOf, READ_MS, WRITE_MS } from './hourly-keys.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The first millisecond of a period. */
const START = 600_000 * WRITE_MS;
const hex = (id: Uint8Array): string => Buffer.from(id).toString('hex');

/** Polls less often than in production, where a test lets hours go by. */
const SLOW_MS = 10_000;

function inWorld(run: (world: KeyWorld) => Promise<void>, pollMs = 1_000): () => Promise<void> {
  return async () => {
    const world = keyWorld(START, pollMs);
    try {
      await run(world);
    } finally {
      await world.close();
    }
  };
}

describe('hourly keys', () => {
  it(
    'are made once by processes that start together, and reach every node',
    inWorld(async (world) => {
      const [one, two] = [world.control('one'), world.control('two')];
      const nodes = [world.node('fra1'), world.node('ams1')];
      await world.timers.advance(1_000);
      assert.equal(hex(one.secrets().key.id), hex(two.secrets().key.id));
      for (const node of nodes) assert.notEqual(node.ring().find(one.secrets().key.id), null);
      for (const node of nodes) assert.equal(hex(node.present()!.id), hex(one.secrets().key.id));
    }),
  );

  it('is not readable nor delivered past its end, although the store was not read since (F16)', () => {
    const period = keyPeriodOf(START);
    const held = holdKeys([
      { period, secret: Buffer.alloc(32, 1) },
      { period: period + 1, secret: Buffer.alloc(32, 2) },
    ]);
    const [first] = held.readable(START);
    const end = endOf(first!);
    assert.equal(held.readable(end - 1).length, 2);
    assert.deepEqual(
      held.readable(end).map(({ key }) => hex(key.id)),
      held
        .readable(START)
        .slice(1)
        .map(({ key }) => hex(key.id)),
    );
    assert.equal(held.ring(end - 1).find(first!.key.id) === null, false);
    assert.equal(held.ring(end).find(first!.key.id), null);
  });

  it(
    'that were destroyed do not come back with a reading that had begun before (F18)',
    inWorld(async (world) => {
      const control = world.control('one');
      await world.timers.advance(1_000);
      const old = control.secrets().key.id;
      const read = world.store.read.bind(world.store);
      const release = Promise.withResolvers<void>();
      let isHeld = false;
      world.store.read = async () => {
        // This reading sees the rows of before, and ends after the keys were destroyed.
        if (isHeld) return read();
        isHeld = true;
        const rows = await read();
        await release.promise;
        return rows;
      };
      await world.timers.advance(1_000);
      assert.equal(isHeld, true);
      const renewed = control.renew();
      await world.timers.advance(0);
      release.resolve();
      await renewed;
      assert.notEqual(hex(control.secrets().key.id), hex(old));
      assert.equal(control.ring().find(old), null);
    }),
  );

  it(
    'a key is at the nodes before its time begins, is used from its first millisecond on, and can be read for two hours after its last',
    inWorld(async (world) => {
      const control = world.control('one');
      const node = world.node('fra1');
      await world.timers.advance(1_000);
      const first = control.secrets().key.id;
      await world.timers.advance(46 * MINUTE_MS);
      const rows = await world.store.read();
      assert.deepEqual(
        rows.map(({ period }) => period - keyPeriodOf(START)),
        [0, 1],
      );
      await world.timers.advance(START + WRITE_MS - 1 - world.clock());
      assert.equal(hex(control.secrets().key.id), hex(first));
      // Nothing runs between the two: the node has the next key already.
      await world.timers.advance(1);
      const second = control.secrets().key.id;
      assert.notEqual(hex(second), hex(first));
      assert.equal(hex(node.present()!.id), hex(second));
      await world.timers.advance(READ_MS - 1);
      assert.notEqual(node.ring().find(first), null);
      await world.timers.advance(1);
      assert.equal(node.ring().find(first), null);
      assert.equal(control.ring().find(first), null);
      await world.timers.advance(SLOW_MS);
      assert.equal((await world.store.read())[0]!.period, keyPeriodOf(START) + 1, 'the row is gone');
    }, SLOW_MS),
  );

  it(
    'no key exists for three hours',
    inWorld(async (world) => {
      const control = world.control('one');
      const seen = new Map<string, { first: number; last: number }>();
      await world.timers.advance(1_000);
      for (const end = START + 8 * HOUR_MS; world.clock() < end; await world.timers.advance(30_000)) {
        for (const { secret } of await world.store.read()) {
          const first = seen.get(hex(secret))?.first ?? world.clock();
          seen.set(hex(secret), { first, last: world.clock() });
        }
        assert.ok(control.secrets());
      }
      assert.ok(seen.size > 8);
      for (const { first, last } of seen.values()) assert.ok(last - first < 3 * HOUR_MS - MINUTE_MS);
    }, SLOW_MS),
  );

  it(
    'a node that was removed gets nothing more, and one that was added gets the keys at once',
    inWorld(async (world) => {
      const control = world.control('one');
      const [fra1, nyc1] = [world.node('fra1'), world.node('nyc1')];
      await world.timers.advance(1_000);
      assert.notEqual(fra1.present(), null);
      assert.equal(nyc1.present(), null, 'it is not in the list');
      world.nodes.set('ams1', 'nyc1');
      await world.timers.advance(0);
      assert.equal(hex(nyc1.present()!.id), hex(control.secrets().key.id));
      const last = fra1.present()!;
      await world.timers.advance(WRITE_MS);
      assert.equal(fra1.ring().find(control.secrets().key.id), null, 'it was pushed the next key');
      await world.timers.advance(5_000);
      assert.equal(fra1.ring().find(control.secrets().key.id), null, 'it was answered');
      await world.timers.advance(3 * HOUR_MS);
      assert.equal(fra1.ring().find(last.id), null);
    }, SLOW_MS),
  );

  it(
    'renewing destroys every key, also at the nodes and in other processes, which notice it within two seconds',
    inWorld(async (world) => {
      world.step(46 * MINUTE_MS);
      const [one, two] = [world.control('one'), world.control('two')];
      const node = world.node('fra1');
      await world.timers.advance(1_000);
      const old = [one.secrets().key.id];
      const before = (await world.store.read()).map(({ secret }) => hex(secret));
      await one.renew();
      assert.notEqual(hex(one.secrets().key.id), hex(old[0]!));
      assert.equal(one.ring().find(old[0]!), null);
      await world.timers.advance(2_000);
      assert.equal(hex(two.secrets().key.id), hex(one.secrets().key.id));
      assert.equal(two.ring().find(old[0]!), null);
      assert.equal(node.ring().find(old[0]!), null);
      assert.equal(hex(node.present()!.id), hex(one.secrets().key.id));
      for (const { secret } of await world.store.read()) assert.ok(!before.includes(hex(secret)));
    }),
  );

  it(
    'rows that a new epoch deleted are followed by a key that control and nodes use within two seconds',
    inWorld(async (world) => {
      const [one, two] = [world.control('one'), world.control('two')];
      const node = world.node('fra1');
      await world.timers.advance(1_000);
      const old = one.secrets().key.id;
      await world.store.keep(0, 0);
      await world.timers.advance(2_000);
      const { id } = one.secrets().key;
      assert.notEqual(hex(id), hex(old));
      assert.equal(hex(two.secrets().key.id), hex(id));
      assert.equal(hex(node.present()!.id), hex(id));
      for (const holder of [one, two, node]) assert.equal(holder.ring().find(old), null);
    }),
  );

  it(
    'a question is answered with the keys that another process has replaced since the last look at the database',
    inWorld(async (world) => {
      world.control('one');
      await world.timers.advance(1_000);
      const secret = Buffer.alloc(32, 9);
      await world.store.replaceAll({ period: keyPeriodOf(START), secret });
      // The answer alone: what the look pushes is lost.
      world.broker.bend = (subject, data) => (subject === keysSubject('fra1') ? null : data);
      const node = world.node('fra1');
      await world.timers.advance(1_000);
      assert.equal(hex(node.present()!.id), hex(feedKey(secret).id));
    }, HOUR_MS),
  );

  it(
    'renewing at once in two processes leaves one key that both use',
    inWorld(async (world) => {
      const [one, two] = [world.control('one'), world.control('two')];
      await world.timers.advance(1_000);
      await Promise.all([one.renew(), two.renew()]);
      await world.timers.advance(2_000);
      assert.equal(hex(one.secrets().key.id), hex(two.secrets().key.id));
      assert.equal((await world.store.read()).length, 1);
    }),
  );

  it(
    'the clock may be set forward and back by any time: there is a key within a second, and none that is over',
    inWorld(async (world) => {
      const control = world.control('one');
      const node = world.node('fra1');
      await world.timers.advance(1_000);
      for (const step of [HOUR_MS, -HOUR_MS, 26 * HOUR_MS, -50 * HOUR_MS, 3 * HOUR_MS, -170 * MINUTE_MS]) {
        world.step(step);
        await world.timers.advance(4_000);
        const { id } = control.secrets().key;
        assert.notEqual(node.ring().find(id), null, `after a step of ${step} ms`);
        const now = keyPeriodOf(world.clock());
        for (const { period } of await world.store.read())
          assert.ok(period >= now - 3 && period <= now + 3, `a key of period ${period - now} is kept`);
      }
    }),
  );

  it(
    'two processes whose clocks are an hour apart serve the same nodes',
    inWorld(async (world) => {
      const fast = world.control('fast', HOUR_MS);
      const node = world.node('fra1');
      await world.timers.advance(1_000);
      const right = world.control('right');
      await world.timers.advance(90 * MINUTE_MS);
      for (const control of [fast, right]) assert.notEqual(node.ring().find(control.secrets().key.id), null);
      await fast.stop();
      await world.timers.advance(3 * HOUR_MS);
      // The fast one's deliveries had later times: the node asks, and believes the answer to its question.
      assert.notEqual(node.ring().find(right.secrets().key.id), null);
    }, SLOW_MS),
  );

  it(
    'without the database the keys that exist are used to their end; then there is an error, and not an old key',
    inWorld(async (world) => {
      const control = world.control('one');
      const node = world.node('fra1');
      await world.timers.advance(46 * MINUTE_MS);
      world.store.isAway = true;
      await world.timers.advance(20 * MINUTE_MS);
      assert.notEqual(node.ring().find(control.secrets().key.id), null);
      await world.timers.advance(WRITE_MS);
      assert.throws(() => control.secrets(), KeyMissingError);
      world.store.isAway = false;
      await world.timers.advance(4_000);
      assert.notEqual(node.ring().find(control.secrets().key.id), null);
    }),
  );

  it(
    'more than three hours without a control process leave no key that is over once one starts',
    inWorld(async (world) => {
      const first = world.control('one');
      await world.timers.advance(1_000);
      await first.stop();
      const { secret } = (await world.store.read())[0]!;
      world.step(4 * HOUR_MS);
      const second = world.control('two');
      await world.timers.advance(1_000);
      assert.ok(second.secrets());
      assert.ok((await world.store.read()).every((row) => hex(row.secret) !== hex(secret)));
    }),
  );
});
