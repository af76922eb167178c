import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withStore } from '../../../../test/support/control/store/fixtures.ts';
import {
  addCustomer,
  addWebhook,
  ENGINES,
  webhookOf,
} from '../../../../test/support/control/webhooks/dispatch-world.ts';
import { prepared } from './prepared.ts';

const FIND = prepared((db, p: { tier: 'free' | 'pro'; email: string; least: number }) =>
  db
    .selectFrom('users')
    .select(['email', 'tier'])
    .where('records_count', '>=', p.least)
    .where('role', '=', 'user')
    .where('tier', '=', p.tier)
    .where('email', '=', p.email)
    .where('created_at', '>=', p.least),
);

const SET = prepared((db, p: { id: string; now: number | null }) =>
  db
    .updateTable('webhooks')
    .set({ served_at: 7, last_triggered_at: p.now, notice_due_at: p.now })
    .where('id', '=', p.id),
);

for (const { name, create, skip } of ENGINES) {
  describe(`prepared statements, ${name}`, { skip }, () => {
    it('bind parameters by name, wherever they stand, and keep what is no parameter', () =>
      withStore(create, async (store) => {
        await addCustomer(store, 'one', 'pro');
        await addCustomer(store, 'two', 'free');
        const one = { email: 'one@example.org', tier: 'pro' } as const;
        const two = { email: 'two@example.org', tier: 'free' } as const;
        const found = await Promise.all([
          FIND(store.read, { ...one, least: 0 }),
          FIND(store.read, { ...two, least: 0 }),
          FIND(store.read, { ...one, tier: 'free', least: 0 }),
          FIND(store.read, { ...one, least: 1 }),
        ]);
        assert.deepEqual(
          found.map(({ rows }) => rows.map((row) => ({ ...row }))),
          [[one], [two], [], []],
        );
      }));

    it('write, tell how many rows they wrote, and take null', () =>
      withStore(create, async (store) => {
        const id = await addWebhook(store, await addCustomer(store));
        for (const now of [5, null, 6]) {
          const { numAffectedRows } = await store.write((tx) => SET(tx, { id, now }));
          assert.equal(numAffectedRows, 1n);
          const { served_at, last_triggered_at, notice_due_at } = await webhookOf(store, id);
          assert.deepEqual([served_at, last_triggered_at, notice_due_at], [7, now, now]);
        }
        const none = await store.write((tx) => SET(tx, { id: 'nobody', now: 1 }));
        assert.equal(none.numAffectedRows, 0n);
      }));

    it('belong to no store: another one runs them as well', () =>
      withStore(create, (first) =>
        withStore(create, async (second) => {
          await addCustomer(second, 'one', 'pro');
          const wanted = { email: 'one@example.org', tier: 'pro', least: 0 } as const;
          assert.equal((await FIND(first.read, wanted)).rows.length, 0);
          assert.equal((await FIND(second.read, wanted)).rows.length, 1);
        }),
      ));

    it('are over with the unit they were begun in', () =>
      withStore(create, async (store) => {
        const { unit } = await store.write(async (tx) => ({ unit: tx }));
        await assert.rejects(SET(unit, { id: 'any', now: 1 }));
      }));
  });
}
