import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  ENGINES,
  enqueue,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, updateRows } from '../../../test/support/store/rows.ts';
import type { Store } from '../../store/store.ts';
import { clockMend } from './clock-mend.ts';

const RIGHT = 10_000_000;
const HOUR = 3_600_000;
const WRONG = RIGHT + HOUR;

/** A process with a clock and an elapsed time that the test sets. */
function processOf(store: Store, at: number) {
  const clock = { at };
  const elapsed = { ms: 0 };
  const { signal } = new AbortController();
  return {
    clock,
    elapsed,
    mend: clockMend({ store, clock: () => clock.at, elapsed: () => elapsed.ms, leaseMs: 40_000, signal }),
  };
}

const timesOf = async (store: Store, id: string): Promise<number[]> => {
  const { served_at, rests_until, claimed_until, next_due_at } = await webhookOf(store, id);
  return [served_at, rests_until, claimed_until, next_due_at ?? -1];
};

for (const { name, create, skip } of ENGINES) {
  describe(`webhooks after a clock that was ahead, on ${name}`, { skip }, () => {
    const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
      it(title, () => withStore(create, run));
    };

    scenario('get back what it gave them, and keep what others gave (seed 251600595)', async (store) => {
      const { clock, mend } = processOf(store, WRONG);
      const behind = processOf(store, RIGHT);
      for (const one of [mend, behind.mend]) await one();
      const user = await addCustomer(store);
      const ahead = await addWebhook(store, user, {
        served_at: WRONG,
        rests_until: WRONG + 1_000,
        claim: 'under way',
        claimed_until: WRONG + 30_000,
      });
      await enqueue(store, ahead, 1, WRONG + 5_000, { attempts: 1, last_attempt_at: WRONG });
      await enqueue(store, ahead, 1, RIGHT + 20_000, {
        seq: 2,
        attempts: 1,
        last_attempt_at: RIGHT - 10_000,
      });
      const other = await addWebhook(store, user, { served_at: RIGHT - 1_000, rests_until: RIGHT + 30_000 });
      await enqueue(store, other, 1, RIGHT + 50_000, { attempts: 1, last_attempt_at: RIGHT - 1_000 });
      const others = await timesOf(store, other);

      const before = await timesOf(store, ahead);
      for (const one of [mend, behind.mend]) await one();
      assert.deepEqual(await timesOf(store, ahead), before, 'whose clock was not set back knows nothing');

      clock.at = RIGHT;
      await mend();
      assert.deepEqual(await timesOf(store, ahead), [RIGHT, RIGHT + 1_000, WRONG + 30_000, RIGHT + 5_000]);
      const retries = (await deliveriesOf(store, ahead)).map(({ last_attempt_at, next_attempt_at }) => [
        last_attempt_at,
        next_attempt_at,
      ]);
      assert.deepEqual(retries, [
        [RIGHT, RIGHT + 5_000],
        [RIGHT - 10_000, RIGHT + 20_000],
      ]);
      assert.deepEqual(await timesOf(store, other), others);
    });

    scenario('a database that is away is asked again; then once for each step', async (store) => {
      const id = await addWebhook(store, await addCustomer(store), {
        served_at: WRONG,
        rests_until: WRONG + 9,
      });
      await enqueue(store, id, 1, RIGHT, {});
      let isAway = false;
      let reads = 0;
      const read: Store['read'] = {
        ...store.read,
        execute: (...args: Parameters<Store['read']['execute']>) => {
          reads++;
          if (isAway) throw new Error('away');
          return store.read.execute(...args) as never;
        },
      };
      const clock = { at: WRONG };
      const { signal } = new AbortController();
      const parts = { read, write: store.write.bind(store) } as Pick<Store, 'read' | 'write'>;
      const mend = clockMend({
        store: parts,
        clock: () => clock.at,
        elapsed: () => 0,
        leaseMs: 40_000,
        signal,
      });
      await mend();
      assert.equal(reads, 1);
      // A second is what clocks may differ by.
      clock.at = WRONG - 1_000;
      await mend();
      assert.equal(reads, 1);
      clock.at = RIGHT;
      isAway = true;
      await assert.rejects(mend(), /away/);
      isAway = false;
      await mend();
      const mended = reads;
      await mend();
      assert.deepEqual([reads, (await webhookOf(store, id)).rests_until], [mended, RIGHT + 9]);
    });

    scenario(
      'get back a retry whose webhook was served again, a rest without deliveries, and what was under way',
      async (store) => {
        const user = await addCustomer(store);
        const retried = await addWebhook(store, user, { served_at: RIGHT });
        await enqueue(store, retried, 1, WRONG + 5_000, { attempts: 1, last_attempt_at: WRONG });
        const rests = await addWebhook(store, user, {
          enabled: 0,
          served_at: WRONG,
          rests_until: WRONG + 60_000,
          claimed_until: WRONG + 30_000,
        });
        const late = await addWebhook(store, user, { served_at: RIGHT });
        const { clock, elapsed, mend } = processOf(store, WRONG);
        clock.at = RIGHT;
        await mend();
        assert.deepEqual(await timesOf(store, retried), [RIGHT, 0, 0, RIGHT + 5_000]);
        assert.deepEqual(await timesOf(store, rests), [RIGHT, RIGHT + 60_000, 0, -1]);
        // Settled by the time that was read before the clock was set back.
        await store.write((tx) =>
          updateRows(tx, 'webhooks', { served_at: WRONG, rests_until: WRONG + 1 }, { id: late }),
        );
        elapsed.ms = 40_000;
        clock.at = RIGHT + 40_000;
        await mend();
        assert.deepEqual(await timesOf(store, late), [RIGHT + 40_000, RIGHT + 40_001, 0, -1]);
      },
    );

    scenario(
      'get back what a process gave that has ended, from the next one that starts (seed 1553988979)',
      async (store) => {
        const id = await addWebhook(store, await addCustomer(store), {
          served_at: WRONG,
          rests_until: WRONG + 1_000,
        });
        await enqueue(store, id, 1, WRONG + 5_000, { attempts: 1, last_attempt_at: WRONG });
        const { clock, elapsed, mend } = processOf(store, RIGHT);
        await mend();
        assert.deepEqual(await timesOf(store, id), [RIGHT, RIGHT + 1_000, 0, RIGHT + 5_000]);
        // What is given by another clock from now on stays.
        await store.write((tx) =>
          updateRows(tx, 'webhooks', { served_at: WRONG, rests_until: WRONG + 1 }, { id }),
        );
        elapsed.ms = 100_000;
        clock.at += elapsed.ms;
        await mend();
        assert.equal((await timesOf(store, id))[1], WRONG + 1);
      },
    );

    scenario('are mended in units, however many they are', async (store) => {
      const user = await addCustomer(store);
      for (let left = 201; left > 0; left--) {
        await addWebhook(store, user, { served_at: WRONG, rests_until: WRONG, next_due_at: RIGHT });
      }
      const { clock, mend } = processOf(store, WRONG);
      clock.at = RIGHT;
      await mend();
      const rests = (await findRows(store.read, 'webhooks', {})).map(({ rests_until }) => rests_until);
      assert.deepEqual([rests.length, new Set(rests)], [201, new Set([RIGHT])]);
    });
  });
}
