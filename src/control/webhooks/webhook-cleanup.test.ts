import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  ENGINES,
  enqueue,
  statusesOf,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import type { Tier } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import {
  closeWebhook,
  countWebhooks,
  findWebhook,
  listWebhooks,
  lockWebhook,
  nextNoticeAt,
  takeNotice,
} from '../../store/webhooks/webhooks.ts';
import { setTier } from '../accounts/rules.ts';
import { cleanUp } from './loops.ts';

const NOW = 10_000_000;
const ON = new AbortController().signal;

/** The store, with the number of deliveries that each unit of work took away or ended. */
function counted(store: Store, id: string): { readonly store: Store; readonly units: number[] } {
  const units: number[] = [];
  const left = async (): Promise<number> =>
    (await deliveriesOf(store, id)).filter(({ status }) => status === 'pending').length;
  const write: Store['write'] = async (work) => {
    const before = await left();
    const result = await store.write(work);
    units.push(before - (await left()));
    return result;
  };
  return { store: { ...store, write }, units };
}

for (const { name, create, skip } of ENGINES) {
  describe(`webhooks cleaned up on ${name}`, { skip }, () => {
    it('a deleted one is gone at once, its rows in units of at most 500, resumed after a stop', () =>
      withStore(create, async (store) => {
        const user = await addCustomer(store);
        const id = await addWebhook(store, user);
        const other = await addWebhook(store, user);
        await enqueue(store, id, 700, NOW);
        await enqueue(store, id, 501, NOW, { seq: 701 });
        await enqueue(store, other, 1, NOW);
        await store.write((tx) => closeWebhook(tx, id));
        assert.equal(await findWebhook(store.read, id, user), null);
        assert.equal(await store.write((tx) => lockWebhook(tx, id, user)), null);
        assert.deepEqual(
          (await listWebhooks(store.read, user)).map((row) => row.id),
          [other],
        );
        assert.equal(await countWebhooks(store.read, user), 1);
        assert.equal((await deliveriesOf(store, id)).length, 1201);

        const stop = new AbortController();
        const first = counted(store, id);
        const stopping: Store = {
          ...first.store,
          write: async (work) => {
            const result = await first.store.write(work);
            stop.abort();
            return result;
          },
        };
        await cleanUp(stopping, stop.signal);
        assert.deepEqual(first.units, [500]);
        const second = counted(store, id);
        await cleanUp(second.store, ON);
        assert.deepEqual(second.units, [500, 201]);
        await assert.rejects(webhookOf(store, id));
        assert.deepEqual(await statusesOf(store, other), { pending: 1 });
      }));

    it('a lower tier pauses those above its quota, newest first, with one mail; a higher one enables none', () =>
      withStore(create, async (store) => {
        const user = await addCustomer(store, 'acme', 'team');
        const ids: string[] = [];
        for (let n = 1; n <= 8; n++)
          ids.push(await addWebhook(store, user, { id: `hook-${n}`, created_at: n }));
        await enqueue(store, 'hook-8', 501, NOW);
        await enqueue(store, 'hook-1', 1, NOW);
        const move = (tier: Tier): Promise<void> =>
          setTier({ store, clock: () => NOW }, 'acme@example.org', tier);
        const enabled = async (): Promise<string[]> =>
          (await listWebhooks(store.read, user)).filter((row) => row.enabled === 1).map((row) => row.id);

        await move('pro');
        assert.deepEqual(await enabled(), ids.slice(0, 5));
        const paused = await webhookOf(store, 'hook-8');
        assert.deepEqual([paused.next_due_at, paused.disabled_by], [null, 'tier']);
        const work = counted(store, 'hook-8');
        await cleanUp(work.store, ON);
        assert.ok(Math.max(...work.units) <= 500);
        assert.deepEqual(await statusesOf(store, 'hook-8'), { failed: 501 });
        assert.deepEqual(await statusesOf(store, 'hook-1'), { pending: 1 });
        assert.equal((await webhookOf(store, 'hook-8')).cleanup, null);

        const notice = await store.write((tx) => takeNotice(tx, NOW, NOW + 1));
        assert.deepEqual([notice?.webhookId, notice?.paused, notice?.tier], ['hook-8', 3, 'pro']);
        await store.write((tx) => updateRows(tx, 'webhooks', { notice_due_at: null }));
        await move('enterprise');
        assert.deepEqual(await enabled(), ids.slice(0, 5));
        await move('pro');
        assert.equal(await nextNoticeAt(store.read), null);
      }));
  });
}
