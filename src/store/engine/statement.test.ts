import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addCustomer,
  addWebhook,
  ENGINES,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { statement } from './statement.ts';

const FIND = statement<
  { tier: 'free' | 'pro'; email: string; least: number },
  { email: string; tier: string }
>(`select email, tier from customers as c join users as u on u.id = c.id where records_count >= :least and role = 'user'
  and tier = :tier and email = :email and c.created_at >= :least`);

const SET = statement<{ id: string; now: number | null }>(
  'update webhooks set served_at = 7, last_triggered_at = :now, notice_due_at = :now where id = :id',
);

const LOCK = statement<{ email: string }, { id: string }>('select id from users where email = :email', {
  lock: 'for update',
});

for (const { name, create, skip } of ENGINES) {
  describe(`statements as text, ${name}`, { skip }, () => {
    it('bind parameters by name, also one that occurs twice', () =>
      withStore(create, async (store) => {
        await addCustomer(store, 'one', 'pro');
        await addCustomer(store, 'two', 'free');
        const one = { email: 'one@example.org', tier: 'pro' } as const;
        const two = { email: 'two@example.org', tier: 'free' } as const;
        const found = await Promise.all([
          FIND.all(store.read, { ...one, least: 0 }),
          FIND.all(store.read, { ...two, least: 0 }),
          FIND.all(store.read, { ...one, tier: 'free', least: 0 }),
          FIND.all(store.read, { ...one, least: 1 }),
        ]);
        assert.deepEqual(
          found.map((rows) => rows.map((row) => ({ ...row }))),
          [[one], [two], [], []],
        );
      }));

    it('write, return the number of rows written, and take null', () =>
      withStore(create, async (store) => {
        const id = await addWebhook(store, await addCustomer(store));
        for (const now of [5, null, 6]) {
          assert.equal(await store.write((tx) => SET.run(tx, { id, now })), 1);
          const { served_at, last_triggered_at, notice_due_at } = await webhookOf(store, id);
          assert.deepEqual([served_at, last_triggered_at, notice_due_at], [7, now, now]);
        }
        const none = await store.write((tx) => SET.run(tx, { id: 'nobody', now: 1 }));
        assert.equal(none, 0);
      }));

    it('lock rows on an engine that has row locks, and run on the other', () =>
      withStore(create, async (store) => {
        const id = await addCustomer(store, 'one', 'pro');
        const rows = await store.write((tx) => LOCK.all(tx, { email: 'one@example.org' }));
        assert.deepEqual(
          rows.map((row) => row.id),
          [id],
        );
      }));

    it('run on any store', () =>
      withStore(create, (first) =>
        withStore(create, async (second) => {
          await addCustomer(second, 'one', 'pro');
          const wanted = { email: 'one@example.org', tier: 'pro', least: 0 } as const;
          assert.equal((await FIND.all(first.read, wanted)).length, 0);
          assert.equal((await FIND.all(second.read, wanted)).length, 1);
        }),
      ));

    it('fail on a unit of work that has ended', () =>
      withStore(create, async (store) => {
        const { unit } = await store.write(async (tx) => ({ unit: tx }));
        await assert.rejects(SET.run(unit, { id: 'any', now: 1 }));
      }));
  });
}
