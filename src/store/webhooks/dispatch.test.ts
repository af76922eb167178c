import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  enqueue,
  enqueueIn,
  statusesOf,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import {
  claim,
  claimOne,
  has,
  LEASE,
  NOW,
  RIGHT,
  SCHEDULE,
  scenarios,
  settle,
} from '../../../test/support/store/dispatch-units.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import { plansOf } from '../../../test/support/store/statement-plans.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DeliveryAttempt } from '../../control/webhooks/attempts.ts';
import { nextDueAfter, waitingSince, waitingWebhooks } from './dispatch.ts';
import type { WebhookRow } from './webhooks.ts';

/** Webhooks claimed for their turn, attempts settled, leases lost: what each does to both rows. */
onEachEngine((create) => {
  const { scenario, one } = scenarios(create);

  describe('claims', () => {
    one('take the first delivery and count its attempt', 2, async (store, id) => {
      const turn = await claimOne(store);
      const [first, second] = await deliveriesOf(store, id);
      const { customerId, deliveryId, ...rest } = turn;
      assert.equal(deliveryId, first!.id);
      assert.equal(customerId, (await webhookOf(store, id)).customer_id);
      assert.deepEqual(
        {
          ...rest,
          encryptedSecret: Buffer.from(rest.encryptedSecret).toString(),
          body: Buffer.from(rest.body).toString(),
        },
        {
          claim: 'mine',
          webhookId: id,
          url: `https://${id}.test/`,
          encryptedSecret: `secret of ${id}`,
          event: 'record.upserted',
          body: '{"seq":1}',
          attempt: 1,
          createdAt: NOW - 100,
        },
      );
      has(await webhookOf(store, id), {
        claim: 'mine',
        claimed_until: NOW + LEASE,
        served_at: NOW,
        last_triggered_at: NOW,
        next_due_at: NOW - 100,
        attempt_minutes: `[[${Math.floor(NOW / 60_000)},1]]`,
      });
      has(first, { status: 'pending', attempts: 1, last_attempt_at: NOW, next_attempt_at: NOW - 100 });
      has(second, { status: 'pending', attempts: 0, last_attempt_at: null });
    });

    scenario('pass over what may not have its turn', async (store) => {
      const user = await addCustomer(store);
      const table: readonly [title: string, boolean, Partial<WebhookRow>][] = [
        ['due now', true, { next_due_at: NOW }],
        ['due later', false, { next_due_at: NOW + 1 }],
        ['nothing to deliver', false, { next_due_at: null }],
        ['disabled', false, { next_due_at: NOW, enabled: 0 }],
        ['rested', true, { next_due_at: NOW, rests_until: NOW }],
        ['rests', false, { next_due_at: NOW, rests_until: NOW + 1 }],
        ['lease is over', true, { next_due_at: NOW, claim: 'theirs', claimed_until: NOW }],
        ['leased', false, { next_due_at: NOW, claim: 'theirs', claimed_until: NOW + 1 }],
      ];
      const titles = new Map<string, string>();
      for (const [title, , more] of table) {
        const id = await addWebhook(store, user, more);
        await enqueue(store, id, 1, NOW - 1);
        await store.write((tx) => updateRows(tx, 'webhooks', more, { id }));
        titles.set(id, title);
      }
      const claimed = (await claim(store)).map((turn) => titles.get(turn.webhookId)!);
      const expected = table.flatMap(([title, isClaimed]) => (isClaimed ? [title] : []));
      assert.deepEqual(claimed.toSorted(), expected.toSorted());
    });

    scenario('are made in the order that was asked for', async (store) => {
      const user = await addCustomer(store);
      for (const id of ['a', 'b', 'c']) await enqueue(store, await addWebhook(store, user, { id }), 1, NOW);
      const turns = await claim(store, { ids: ['c', 'a'] });
      assert.deepEqual(
        turns.map((turn) => turn.webhookId),
        ['c', 'a'],
      );
    });

    scenario('of two at once never meet', async (store, open) => {
      const other = await open();
      const user = await addCustomer(store);
      const ids: string[] = [];
      for (let index = 0; index < 20; index++) ids.push(await addWebhook(store, user));
      for (const id of ids) await enqueue(store, id, 1, NOW);
      const [a, b] = await Promise.all([
        claim(store, { claim: 'a', ids }),
        claim(other, { claim: 'b', ids: ids.toReversed() }),
      ]);
      const claimed = [...a, ...b].map((turn) => turn.webhookId);
      assert.equal(claimed.length, 20);
      assert.equal(new Set(claimed).size, 20);
    });

    one('end a delivery whose last attempt nobody survived', 0, async (store, id) => {
      await enqueue(store, id, 1, NOW - 9, {
        attempts: SCHEDULE.length,
        error: 'http_status',
        response_code: 500,
      });
      await enqueue(store, id, 1, NOW - 8, { seq: 2, attempts: SCHEDULE.length - 1 });
      const turn = await claimOne(store);
      assert.equal(turn.attempt, SCHEDULE.length);
      const [dead, alive] = await deliveriesOf(store, id);
      has(dead, {
        status: 'failed',
        error: 'timeout',
        attempts: SCHEDULE.length,
        body: null,
        next_attempt_at: null,
      });
      has(alive, { status: 'pending', attempts: SCHEDULE.length });
      has(await webhookOf(store, id), { failure_count: 0 });
    });

    one('find that nothing is due after all, and say when something is', 0, async (store, id) => {
      await enqueue(store, id, 1, NOW + 500);
      await store.write((tx) => updateRows(tx, 'webhooks', { next_due_at: 5 }));
      assert.deepEqual(await claim(store), []);
      has(await webhookOf(store, id), { next_due_at: NOW + 500, claim: null, claimed_until: 0 });
    });

    const FULL = (count: number): string => JSON.stringify([[Math.floor(NOW / 60_000) - 60, count]]);
    const LIMIT = LIMITS.webhookAttemptsPerHour;

    one(
      'with room for one more attempt in the hour make it',
      3,
      async (store, id) => {
        await enqueue(store, id, 1, NOW + 1, { seq: 4 });
        const turn = await claimOne(store);
        assert.equal(turn.attempt, 1);
        const settled = await settle(store, turn, RIGHT, { goOn: true });
        assert.deepEqual(settled?.ended, { failed: 0, dropped: 2 });
        assert.equal(settled?.next, null);
        assert.deepEqual(await statusesOf(store, id), { succeeded: 1, dropped: 2, pending: 1 });
      },
      { attempt_minutes: FULL(LIMIT - 1) },
    );

    one(
      'without room drop what is due, which is no failure, and keep what is due later',
      3,
      async (store, id) => {
        await enqueue(store, id, 1, NOW + 1, { seq: 4 });
        assert.deepEqual(await claim(store), []);
        const [dropped, , , later] = await deliveriesOf(store, id);
        has(dropped, {
          status: 'dropped',
          error: 'rate_limited',
          attempts: 0,
          body: null,
          next_attempt_at: null,
        });
        has(later, { status: 'pending', next_attempt_at: NOW + 1 });
        assert.deepEqual(await statusesOf(store, id), { dropped: 3, pending: 1 });
        has(await webhookOf(store, id), { failure_count: 0, enabled: 1, claim: null, next_due_at: NOW + 1 });
      },
      { attempt_minutes: FULL(LIMIT) },
    );

    one('of a customer whose tier has no webhooks any more fail what is due', 2, async (store, id) => {
      await enqueue(store, id, 1, NOW + 1, { seq: 3 });
      await store.write((tx) => updateRows(tx, 'customers', { tier: 'free' }));
      assert.deepEqual(await claim(store), []);
      const [failed, , later] = await deliveriesOf(store, id);
      has(failed, { status: 'failed', error: 'webhook_disabled', attempts: 0, body: null });
      has(later, { status: 'pending' });
      has(await webhookOf(store, id), {
        failure_count: 0,
        enabled: 1,
        next_due_at: NOW + 1,
        notice_due_at: null,
      });
    });
  });

  describe('what waits', () => {
    scenario('is told by time', async (store) => {
      const [first, second] = [await addCustomer(store, 'one'), await addCustomer(store, 'two')];
      assert.equal(await nextDueAfter(store.read, 0), null);
      assert.equal(await waitingSince(store.read), null);
      const table: readonly [string, Partial<WebhookRow>][] = [
        [first, { id: 'disabled', next_due_at: 1, enabled: 0 }],
        [first, { id: 'nothing to deliver', next_due_at: null, rests_until: 1 }],
        [first, { id: 'rests', next_due_at: 50, rests_until: 90, claimed_until: 10, last_attempt_ms: 999 }],
        [
          second,
          { id: 'leased', next_due_at: 70, rests_until: 20, claimed_until: 95, last_attempt_ms: 1000 },
        ],
        [second, { id: 'due later', next_due_at: 99 }],
      ];
      for (const [user, more] of table) await addWebhook(store, user, more);
      const after = [0, 89, 90, 95, 99].map((now) => nextDueAfter(store.read, now));
      assert.deepEqual(await Promise.all(after), [90, 90, 95, 99, null]);
      assert.equal(await waitingSince(store.read), 70);
      const waiting = async (isSlow: boolean, passed: readonly string[], limit = 9): Promise<string[]> =>
        (await waitingWebhooks(store.read, { now: 99, isSlow, passed, limit })).map(({ id }) => id);
      assert.deepEqual(await waiting(false, []), ['rests', 'due later']);
      assert.deepEqual(await waiting(false, [], 1), ['rests']);
      assert.deepEqual(await waiting(false, [first]), ['due later']);
      assert.deepEqual(await waiting(false, [first, second]), []);
      assert.deepEqual(await waiting(true, []), ['leased']);
    });

    scenario('is found by an index, however much waits', async (store) => {
      const plans = await plansOf(store, async (db) => {
        await nextDueAfter(db, 5);
        for (const isSlow of [false, true])
          await waitingWebhooks(db, { now: 5, isSlow, passed: [], limit: 1 });
      });
      assert.equal(plans.length, 3);
      for (const plan of plans) {
        assert.match(plan, /(INDEX|Scan using) webhooks_turn/);
        assert.doesNotMatch(plan, /(SCAN|Seq Scan on) webhooks|Sort|TEMP B-TREE/);
      }
    });

    one('is attempted by time, then by number', 0, async (store, id) => {
      await store.write(async (tx) => {
        await enqueueIn(tx, id, 1, NOW - 1, { seq: 4 });
        await enqueueIn(tx, id, 1, NOW - 2, { seq: 9, attempts: 1 });
        await enqueueIn(tx, id, 1, NOW - 1, { seq: 3 });
        await enqueueIn(tx, id, 1, NOW + 1, { seq: 1, attempts: 1 });
      });
      const seen: string[] = [];
      let turn: DeliveryAttempt | null = await claimOne(store);
      while (turn !== null) {
        seen.push(Buffer.from(turn.body).toString());
        turn = (await settle(store, turn, RIGHT, { goOn: true }))!.next;
      }
      assert.deepEqual(seen, ['{"seq":9}', '{"seq":3}', '{"seq":4}']);
      has(await webhookOf(store, id), { next_due_at: NOW + 1 });
    });
  });
});
