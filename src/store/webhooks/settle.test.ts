import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  enqueue,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import {
  claim,
  claimOne,
  has,
  LEASE,
  NOW,
  RIGHT,
  scenarios,
  settle,
  WRONG,
} from '../../../test/support/store/dispatch-units.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { deleteRows, insertRows, updateRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { cancelAttempt } from '../../control/webhooks/attempts.ts';
import type { AttemptResult } from '../../control/webhooks/send-attempt.ts';
import type { DeliveryError } from '../../protocol/webhooks.ts';
import type { WebhookDeliveriesTable } from './deliveries.ts';
import { endAllLeases, nextDueAfter, recordResult } from './dispatch.ts';
import type { WebhookRow } from './webhooks.ts';

/** Attempts settled under a lease and without one, and turns given back. */
onEachEngine((create) => {
  const { scenario, one } = scenarios(create);

  describe('settling', () => {
    type Row = [
      title: string,
      result: AttemptResult,
      before: { hook?: Partial<WebhookRow>; delivery?: Partial<WebhookDeliveriesTable> },
      delivery: Partial<WebhookDeliveriesTable>,
      hook: Partial<WebhookRow>,
    ];
    const failed = (error: DeliveryError, more: Partial<AttemptResult> = {}): AttemptResult => ({
      error,
      responseCode: null,
      durationMs: 7,
      retryAfter: null,
      ...more,
    });
    const body = Buffer.from('{"seq":1}');
    const retried = { status: 'pending', attempts: 1, next_attempt_at: NOW + 5000 } as const;
    const rested = { failure_count: 1, rests_until: NOW + 1000, next_due_at: NOW + 5000, enabled: 1 };
    const TABLE: readonly Row[] = [
      [
        'a 2xx',
        RIGHT,
        { hook: { failure_count: 19, rests_until: NOW - 1 } },
        {
          status: 'succeeded',
          error: null,
          response_code: 200,
          duration_ms: 7,
          body: null,
          next_attempt_at: null,
        },
        { failure_count: 0, rests_until: 0, next_due_at: null, enabled: 1, notice_due_at: null },
      ],
      [
        'a 2xx after failures of its own',
        { ...RIGHT, responseCode: 204 },
        { delivery: { attempts: 2, error: 'timeout', response_code: 500 } },
        { status: 'succeeded', error: null, response_code: 204, attempts: 3, body: null },
        { failure_count: 0 },
      ],
      ['a 500', WRONG, {}, { ...retried, error: 'http_status', response_code: 500, duration_ms: 7 }, rested],
      [
        'a 410',
        { ...WRONG, responseCode: 410 },
        {},
        { ...retried, error: 'http_status', response_code: 410 },
        rested,
      ],
      ['silence', failed('timeout'), {}, { ...retried, error: 'timeout', response_code: null }, rested],
      ['a private address', failed('blocked_address'), {}, { ...retried, error: 'blocked_address' }, rested],
      [
        'an endpoint that asks for time',
        failed('http_status', { responseCode: 429, retryAfter: 9 }),
        {},
        { ...retried, next_attempt_at: NOW + 9000 },
        { ...rested, next_due_at: NOW + 9000 },
      ],
      [
        'a second failure',
        failed('timeout'),
        { delivery: { attempts: 1, error: 'http_status', response_code: 500 }, hook: { failure_count: 5 } },
        {
          status: 'pending',
          attempts: 2,
          error: 'timeout',
          response_code: null,
          next_attempt_at: NOW + 300_000,
        },
        { failure_count: 6, rests_until: NOW + 32_000 },
      ],
      [
        'the last failure',
        WRONG,
        { delivery: { attempts: 2 }, hook: { failure_count: 6 } },
        {
          status: 'failed',
          attempts: 3,
          error: 'http_status',
          response_code: 500,
          body: null,
          next_attempt_at: null,
        },
        { failure_count: 7, rests_until: NOW + 60_000, next_due_at: null, enabled: 1, notice_due_at: null },
      ],
      [
        'one failure short of too many',
        WRONG,
        { hook: { failure_count: LIMITS.webhookFailures - 2 } },
        { status: 'pending' },
        { failure_count: LIMITS.webhookFailures - 1, enabled: 1, notice_due_at: null },
      ],
      [
        'one failure too many',
        WRONG,
        { hook: { failure_count: LIMITS.webhookFailures - 1 } },
        { status: 'failed', error: 'http_status', response_code: 500, body: null, next_attempt_at: null },
        { failure_count: LIMITS.webhookFailures, enabled: 0, notice_due_at: NOW, next_due_at: null },
      ],
    ];
    scenario('writes both rows', async (store) => {
      const user = await addCustomer(store);
      for (const [title, result, before, delivery, hook] of TABLE) {
        const id = await addWebhook(store, user, before.hook);
        await enqueue(store, id, 1, NOW - 10, before.delivery);
        const settled = await settle(store, await claimOne(store), result);
        const [row] = await deliveriesOf(store, id);
        has(row, { body: new Uint8Array(body), ...delivery, last_attempt_at: NOW }, title);
        has(await webhookOf(store, id), { ...hook, claim: null, claimed_until: 0, served_at: NOW }, title);
        assert.equal(settled?.status, delivery.status, title);
        assert.equal(settled?.isDisabled, hook.enabled === 0, title);
        await store.write((tx) => deleteRows(tx, 'webhooks', { id }));
      }
    });

    one('goes on to the next delivery in the same unit', 3, async (store, id) => {
      const first = await claimOne(store);
      const settled = await settle(store, first, RIGHT, { goOn: true, now: NOW + 50 });
      assert.equal(Buffer.from(settled!.next!.body).toString(), '{"seq":2}');
      assert.equal(settled!.next!.claim, first.claim);
      has(await webhookOf(store, id), { claim: first.claim, claimed_until: NOW + 50 + LEASE });
      const [, second] = await deliveriesOf(store, id);
      has(second, { attempts: 1, last_attempt_at: NOW + 50 });
    });

    one('reads url and secret again for the next delivery', 2, async (store) => {
      const first = await claimOne(store);
      const change = { url: 'https://new.test/', signing_secret: Buffer.from('new') };
      await store.write((tx) => updateRows(tx, 'webhooks', change));
      const { next } = (await settle(store, first, RIGHT, { goOn: true }))!;
      assert.equal(next!.url, 'https://new.test/');
      assert.equal(Buffer.from(next!.encryptedSecret).toString(), 'new');
    });

    one('after a failure goes on to nothing: the webhook rests', 2, async (store, id) => {
      const settled = await settle(store, await claimOne(store), WRONG, { goOn: true });
      assert.equal(settled!.next, null);
      // The second delivery waits for the rest alone, not for the first one's retry.
      has(await webhookOf(store, id), { next_due_at: NOW - 100, rests_until: NOW + 1000, claim: null });
      assert.deepEqual(await claim(store, { now: NOW + 999 }), []);
      const turn = await claimOne(store, { now: NOW + 1000 });
      assert.equal(Buffer.from(turn.body).toString(), '{"seq":2}');
    });

    one(
      'that disables fails all that waits, due or not',
      3,
      async (store, id) => {
        await enqueue(store, id, 1, NOW + 9_000_000, {
          seq: 4,
          attempts: 2,
          error: 'timeout',
          response_code: null,
        });
        const settled = await settle(store, await claimOne(store), WRONG, { goOn: true });
        assert.deepEqual(settled, {
          status: 'failed',
          isDisabled: true,
          ended: { failed: 3, dropped: 0 },
          next: null,
        });
        const rows = await deliveriesOf(store, id);
        assert.deepEqual(
          rows.map((row) => [row.status, row.error, row.body, row.next_attempt_at]),
          [
            ['failed', 'http_status', null, null],
            ['failed', 'webhook_disabled', null, null],
            ['failed', 'webhook_disabled', null, null],
            ['failed', 'webhook_disabled', null, null],
          ],
        );
        assert.equal(await nextDueAfter(store.read, 0), null);
      },
      { failure_count: LIMITS.webhookFailures - 1 },
    );

    one('knows its attempt by its number', 1, async (store) => {
      const turn = await claimOne(store);
      const outcome = {
        status: 'succeeded',
        error: null,
        response_code: 200,
        duration_ms: 1,
        next_attempt_at: null,
      } as const;
      const record = (attempt: number): Promise<boolean> =>
        store.write((tx) => recordResult(tx, turn.deliveryId, attempt, outcome));
      assert.equal(await record(turn.attempt + 1), false);
      assert.equal(await record(turn.attempt), true);
      assert.equal(await record(turn.attempt), false);
    });

    one('of a delivery that was ended meanwhile writes nothing and goes on', 2, async (store, id) => {
      const turn = await claimOne(store);
      const end = { status: 'failed', error: 'webhook_disabled', next_attempt_at: null, body: null } as const;
      await store.write((tx) => updateRows(tx, 'webhook_deliveries', end, { id: turn.deliveryId }));
      const settled = await settle(store, turn, WRONG, { goOn: true });
      assert.equal(settled!.status, null);
      assert.ok(settled!.next !== null);
      has((await deliveriesOf(store, id))[0], end);
      has(await webhookOf(store, id), { failure_count: 0 });
    });

    one('without the lease writes nothing', 1, async (store, id, open) => {
      const turn = await claimOne(store);
      const other = await open();
      const late = await claimOne(other, { claim: 'theirs', now: NOW + LEASE });
      assert.equal(late.deliveryId, turn.deliveryId);
      assert.equal(late.attempt, 2);
      const before = [await webhookOf(store, id), await deliveriesOf(store, id)];
      for (const result of [RIGHT, WRONG]) {
        assert.equal(await settle(store, turn, result, { goOn: true }), null);
        await store.write((tx) => cancelAttempt(tx, turn, NOW, NOW + 9));
        assert.deepEqual([await webhookOf(store, id), await deliveriesOf(store, id)], before);
      }
      assert.equal((await settle(other, late, RIGHT))?.status, 'succeeded');
    });

    one('of a webhook that was disabled or deleted meanwhile writes nothing', 1, async (store, id) => {
      const turn = await claimOne(store);
      await store.write((tx) => updateRows(tx, 'webhooks', { enabled: 0 }));
      assert.equal(await settle(store, turn, RIGHT), null);
      has((await deliveriesOf(store, id))[0], { status: 'pending' });
      await store.write((tx) => deleteRows(tx, 'webhooks', { id }));
      assert.equal(await settle(store, turn, RIGHT), null);
    });

    one('loses no wake-up to what is enqueued at the same time', 1, async (store, id, open) => {
      const other = await open();
      for (let seq = 2; seq < 40; seq++) {
        const turn = await claimOne(store, { now: NOW + seq });
        await Promise.all([
          settle(store, turn, RIGHT, { now: NOW + seq }),
          enqueue(other, id, 1, NOW + seq, { seq }),
        ]);
        has(await webhookOf(store, id), { next_due_at: NOW + seq }, `number ${seq}`);
      }
    });

    one('waits for no unit that enqueues', 1, async (store, id, open) => {
      // There one unit runs after the other anyway.
      if (store.engine === 'sqlite') return;
      const turn = await claimOne(store);
      const other = await open();
      await other.write(async (tx) => {
        // The row of the delivery names the webhook and so holds it, a little.
        await insertRows(tx, 'webhook_deliveries', {
          ...(await deliveriesOf(store, id))[0]!,
          id: 'another',
          seq: 2,
        });
        assert.equal((await settle(store, turn, RIGHT))?.status, 'succeeded');
      });
    });
  });

  describe('giving back', () => {
    one('takes the attempt back, with a rest or without', 1, async (store, id) => {
      for (const [rest, rests_until] of [
        [null, 0],
        [NOW + 60_000, NOW + 60_000],
      ] as const) {
        const turn = await claimOne(store);
        await store.write((tx) => cancelAttempt(tx, turn, NOW, rest));
        has((await deliveriesOf(store, id))[0], {
          status: 'pending',
          attempts: 0,
          next_attempt_at: NOW - 100,
        });
        has(await webhookOf(store, id), { claim: null, claimed_until: 0, rests_until, failure_count: 0 });
      }
    });

    one('all leases at once lets a new process go on', 1, async (store, id) => {
      const turn = await claimOne(store);
      assert.deepEqual(await claim(store), []);
      await store.write(endAllLeases);
      assert.equal((await claimOne(store, { claim: 'again' })).deliveryId, turn.deliveryId);
      has((await deliveriesOf(store, id))[0], { attempts: 2 });
      assert.equal(await settle(store, turn, RIGHT), null);
    });
  });
});
