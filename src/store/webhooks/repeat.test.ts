import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { deliveriesOf, enqueue, webhookOf } from '../../../test/support/control/webhooks/dispatch-world.ts';
import {
  claimOne,
  has,
  NOW,
  RIGHT,
  SCHEDULE,
  scenarios,
  settle,
  WRONG,
} from '../../../test/support/store/dispatch-units.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { updateRows } from '../../../test/support/store/rows.ts';

/** A unit that settles an attempt and runs again, because the reply to its commit was lost. */
onEachEngine((create) => {
  const { one } = scenarios(create);

  describe('settling', () => {
    one('repeated returns the same next turn and changes nothing', 3, async (store, id) => {
      const first = await claimOne(store);
      const settled = await settle(store, first, RIGHT, { goOn: true });
      const before = [await webhookOf(store, id), await deliveriesOf(store, id)] as const;
      for (const [result, goOn] of [
        [RIGHT, true],
        [WRONG, true],
        [RIGHT, false],
      ] as const) {
        const again = await settle(store, first, result, { goOn, now: NOW + 9 });
        assert.equal(again!.status, null);
        assert.deepEqual(again!.next, settled!.next);
        assert.deepEqual([await webhookOf(store, id), await deliveriesOf(store, id)], before);
      }
      has(before[1][1], { status: 'pending', attempts: 1 }, 'the next delivery');
      await settle(store, settled!.next!, WRONG);
      assert.equal(await settle(store, settled!.next!, WRONG), null);
      has(await webhookOf(store, id), { failure_count: 1 });
    });

    one(
      'repeated before the last attempt of the next delivery leaves it to be made',
      1,
      async (store, id) => {
        const last = SCHEDULE.length - 1;
        await enqueue(store, id, 1, NOW - 50, { seq: 2, attempts: last, error: 'http_status' });
        const first = await claimOne(store);
        await settle(store, first, RIGHT, { goOn: true });
        const { next } = (await settle(store, first, RIGHT, { goOn: true }))!;
        assert.equal(next!.attempt, SCHEDULE.length);
        has((await deliveriesOf(store, id))[1], { status: 'pending', attempts: SCHEDULE.length });
        await settle(store, next!, WRONG);
        // Ended by its own result, and not as an attempt that nobody survived.
        has((await deliveriesOf(store, id))[1], {
          status: 'failed',
          error: 'http_status',
          response_code: 500,
          attempts: SCHEDULE.length,
        });
      },
    );

    one('repeated after the next delivery was ended goes on to the one after it', 3, async (store, id) => {
      const first = await claimOne(store);
      const { next } = (await settle(store, first, RIGHT, { goOn: true }))!;
      const end = { status: 'failed', error: 'webhook_disabled', next_attempt_at: null, body: null } as const;
      await store.write((tx) => updateRows(tx, 'webhook_deliveries', end, { id: next!.deliveryId }));
      const again = await settle(store, first, RIGHT, { goOn: true });
      assert.equal(Buffer.from(again!.next!.body).toString(), '{"seq":3}');
      has((await deliveriesOf(store, id))[2], { attempts: 1 });
    });
  });
});
