import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { LIMITS } from '../../../core/limits.ts';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  enqueue,
  enqueueIn,
  statusesOf,
  webhookOf,
} from '../../webhooks/testing/dispatch-world.ts';
import { type ClaimRules, giveBack, type Turn } from '../../webhooks/turn.ts';
import { forgetClaims, nextTurnAt, waitingSince } from '../dispatch.ts';
import type { WebhooksTable } from '../schema.ts';
import { settleConformance } from './conformance-settle.ts';
import { claim, claimOne, has, LEASE, NOW, RIGHT, SCHEDULE, scenarios, settle } from './dispatch-units.ts';
import type { TestDatabase } from './fixtures.ts';

/** Webhooks claimed for their turn, attempts settled, leases lost: what each does to both rows. */
export function dispatchConformance(create: () => Promise<TestDatabase>): void {
  const { scenario, one } = scenarios(create);

  describe('claims', () => {
    one('take the first delivery and count its attempt', 2, async (store, id) => {
      const turn = await claimOne(store);
      const [first, second] = await deliveriesOf(store, id);
      const { userId, deliveryId, ...rest } = turn;
      assert.equal(deliveryId, first!.id);
      assert.equal(userId, (await webhookOf(store, id)).user_id);
      assert.deepEqual(
        {
          ...rest,
          sealedSecret: Buffer.from(rest.sealedSecret).toString(),
          body: Buffer.from(rest.body).toString(),
        },
        {
          claim: 'mine',
          webhookId: id,
          url: `https://${id}.test/`,
          sealedSecret: `secret of ${id}`,
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
      const table: readonly [title: string, boolean, Partial<WebhooksTable>][] = [
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
        await store.write((tx) => tx.updateTable('webhooks').set(more).where('id', '=', id).execute());
        titles.set(id, title);
      }
      const claimed = (await claim(store)).map((turn) => titles.get(turn.webhookId)!);
      const expected = table.flatMap(([title, isClaimed]) => (isClaimed ? [title] : []));
      assert.deepEqual(claimed.toSorted(), expected.toSorted());
    });

    scenario('go to the one longest without its turn, as far as there is room', async (store) => {
      const [first, second] = [await addCustomer(store, 'one'), await addCustomer(store, 'two')];
      const table = [
        [first, 'a', 50],
        [first, 'b', 10],
        [first, 'c', 20],
        [second, 'd', 40],
        [second, 'e', 30],
      ] as const;
      for (const [user, id, served_at] of table) {
        await enqueue(store, await addWebhook(store, user, { id, served_at }), 1, NOW);
      }
      const ids = async (more: Partial<ClaimRules>): Promise<string> => {
        const turns = await claim(store, more);
        await store.write(forgetClaims);
        for (const turn of turns) await store.write((tx) => giveBack(tx, turn, NOW, null));
        for (const [, id, served_at] of table) {
          await store.write((tx) =>
            tx.updateTable('webhooks').set({ served_at }).where('id', '=', id).execute(),
          );
        }
        return turns.map((turn) => turn.webhookId).join('');
      };
      assert.equal(await ids({}), 'bceda');
      assert.equal(await ids({ limit: 2 }), 'bc');
      assert.equal(await ids({ passed: [first] }), 'ed');
      assert.equal(await ids({ passed: [first, second] }), '');
      assert.equal(await ids({ room: (user) => (user === first ? 1 : 2) }), 'bed');
    });

    scenario('of two at once never meet', async (store, open) => {
      const other = await open();
      const user = await addCustomer(store);
      for (let index = 0; index < 20; index++) await enqueue(store, await addWebhook(store, user), 1, NOW);
      const all: string[] = [];
      for (let round = 0; all.length < 20 && round < 20; round++) {
        const claims = await Promise.all([
          claim(store, { claim: `a${round}`, limit: 4 }),
          claim(other, { claim: `b${round}`, limit: 4 }),
        ]);
        all.push(...claims.flat().map((turn) => turn.webhookId));
      }
      assert.equal(all.length, 20);
      assert.equal(new Set(all).size, 20);
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
      await store.write((tx) => tx.updateTable('webhooks').set({ next_due_at: 5 }).execute());
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
      await store.write((tx) => tx.updateTable('users').set({ tier: 'free' }).execute());
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
      assert.equal(await nextTurnAt(store.read, []), null);
      assert.equal(await waitingSince(store.read), null);
      const table: readonly [string, Partial<WebhooksTable>][] = [
        [first, { next_due_at: 1, enabled: 0 }],
        [first, { next_due_at: null, rests_until: 1 }],
        [first, { next_due_at: 50, rests_until: 90, claimed_until: 10 }],
        [second, { next_due_at: 70, rests_until: 20, claimed_until: 95 }],
        [second, { next_due_at: 99 }],
      ];
      for (const [user, more] of table) await addWebhook(store, user, more);
      assert.equal(await nextTurnAt(store.read, []), 90);
      assert.equal(await nextTurnAt(store.read, [first]), 95);
      assert.equal(await nextTurnAt(store.read, [first, second]), null);
      assert.equal(await waitingSince(store.read), 70);
    });

    one('is attempted by time, then by number', 0, async (store, id) => {
      await store.write(async (tx) => {
        await enqueueIn(tx, id, 1, NOW - 1, { seq: 4 });
        await enqueueIn(tx, id, 1, NOW - 2, { seq: 9, attempts: 1 });
        await enqueueIn(tx, id, 1, NOW - 1, { seq: 3 });
        await enqueueIn(tx, id, 1, NOW + 1, { seq: 1, attempts: 1 });
      });
      const seen: string[] = [];
      let turn: Turn | null = await claimOne(store);
      while (turn !== null) {
        seen.push(Buffer.from(turn.body).toString());
        turn = (await settle(store, turn, RIGHT, { goOn: true }))!.next;
      }
      assert.deepEqual(seen, ['{"seq":9}', '{"seq":3}', '{"seq":4}']);
      has(await webhookOf(store, id), { next_due_at: NOW + 1 });
    });
  });

  settleConformance(create);
}
