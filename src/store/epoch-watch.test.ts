import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { type NewEpoch, startEpochWatch } from './epoch-watch.ts';
import type { Db } from './store.ts';

const STARTED_AT = 2_000;

/** A log, with the sequence number where its present epoch began. */
function openWorld(epoch = 'a') {
  const log = { epoch, head: 100, began: 0, isAway: false, answer: Promise.resolve(), looks: 0 };
  const timers = createManualTimers();
  const told: NewEpoch[] = [];
  let hear = (_seq: number): void => {};
  const read: Db = {
    engine: 'postgres',
    execute: async <R>() => ({ rows: [{ value: String(log.began) } as R], count: 1 }),
  };
  const watch = startEpochWatch(
    {
      read,
      changes: {
        async bounds() {
          log.looks++;
          await log.answer;
          if (log.isAway) throw new Error('away');
          return { epoch: log.epoch, head: log.head, oldest: 1 };
        },
        since: () => assert.fail(),
        openSnapshot: () => assert.fail(),
        heardAt: () => null,
        onChange(listener) {
          hear = listener;
          return () => {};
        },
      },
    },
    (found) => told.push(found),
    STARTED_AT,
    timers,
  );
  return {
    log,
    told,
    watch,
    commit: (count: number): void => {
      log.head += count;
      hear(log.head);
    },
    second: () => timers.advance(1_000),
  };
}

describe('the watch of the epoch', () => {
  it('tells nothing at the start, of writes, and of an outage that loses nothing', async () => {
    const { log, told, watch, commit, second } = openWorld();
    assert.equal(watch.beganAt(), null);
    await second();
    assert.equal(watch.beganAt(), 0);
    commit(3);
    log.isAway = true;
    await second();
    log.isAway = false;
    await second();
    assert.deepEqual(told, []);
    await watch.stop();
  });

  it('tells once how many changes were lost in an outage, those of the last second among them, whatever is written then', async () => {
    const { log, told, watch, commit, second } = openWorld();
    await second();
    commit(7);
    log.isAway = true;
    await second();
    Object.assign(log, { epoch: 'a.5000', head: 104, began: 104, isAway: false });
    commit(20);
    await second();
    await second();
    assert.deepEqual(told, [{ seq: 104, lost: 3 }]);
    assert.equal(watch.beganAt(), 5_000);
    await watch.stop();
  });

  it('counts no change of the new epoch that came while a look waited for the dead server', async () => {
    const { log, told, watch, commit, second } = openWorld();
    await second();
    commit(7);
    const answer = Promise.withResolvers<void>();
    Object.assign(log, { isAway: true, answer: answer.promise });
    const { looks } = log;
    const looked = second();
    while (log.looks === looks) await nextTurn();
    commit(5_000);
    answer.resolve();
    await looked;
    Object.assign(log, { epoch: 'a.5000', began: 104, isAway: false });
    await second();
    assert.deepEqual(told, [{ seq: 104, lost: 3 }]);
    await watch.stop();
  });

  it('tells of an epoch that the first connection of this process gave, and of none from before its start', async () => {
    for (const [epoch, expected] of [
      [`a.${STARTED_AT}`, [{ seq: 0, lost: 0 }]],
      [`a.${STARTED_AT - 1}`, []],
    ] as const) {
      const { told, watch, second } = openWorld(epoch);
      await second();
      await second();
      assert.deepEqual(told, expected);
      await watch.stop();
    }
  });

  it('tells of no loss when an operator gives the epoch beside writes', async () => {
    const { log, told, watch, commit, second } = openWorld();
    await second();
    commit(5);
    Object.assign(log, { epoch: 'a.9', began: 105 });
    commit(8);
    await second();
    assert.deepEqual(told, [{ seq: 105, lost: 0 }]);
    await watch.stop();
  });
});
