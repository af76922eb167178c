import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  enqueue,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import { forgetOld } from '../../control/webhooks/loops.ts';

const { signal } = new AbortController();

/** Deliveries leave the history after their days, whatever their number. */
onEachEngine((create) => {
  describe('history of deliveries', () => {
    it('keeps what is younger, and what still waits', () =>
      withStore(create, async (store) => {
        const customer = await addCustomer(store);
        const full = await addWebhook(store, customer);
        const waiting = await addWebhook(store, customer);
        // More than one unit of work deletes, on both sides of the last moment.
        await enqueue(store, full, 1001, 1);
        await enqueue(store, full, 2, 2);
        await enqueue(store, waiting, 1, 1);
        await store.write(async (tx) => {
          await updateRows(
            tx,
            'webhook_deliveries',
            { status: 'succeeded', next_attempt_at: null, body: null },
            { webhook_id: full },
          );
        });
        await forgetOld(store, 2, signal);
        assert.deepEqual(
          (await deliveriesOf(store, full)).map(({ created_at }) => created_at),
          [2, 2],
        );
        assert.equal((await deliveriesOf(store, waiting)).length, 1);
      }));
  });
});
