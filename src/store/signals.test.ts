import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { settle, withStore } from '../../test/support/store/fixtures.ts';
import { sharedLimiter } from '../control/shared-limiter.ts';
import { markWork } from './engine/signals.ts';
import { appendChanges, type NewChange } from './log/change-log.ts';
import type { Store } from './store.ts';

const CHANGE: NewChange = {
  type: 'namespace.deleted',
  owner: null,
  cause: 'direct',
  namespace: 'acme',
  id: 'n',
};

/** Who is woken by a unit of work, and who is not. */
onEachEngine((create) => {
  const scenario = (
    title: string,
    run: (store: Store, open: () => Promise<Store>) => Promise<void>,
  ): void => {
    it(title, () => withStore(create, run));
  };
  const append = (store: Store): Promise<number> => store.write((tx) => appendChanges(tx, [CHANGE], 1));
  /** Units that change rows and no log: what every request of the API does beside its work. */
  const silent = async (store: Store): Promise<void> => {
    const limiter = sharedLimiter(store, () => 1);
    for (let unit = 0; unit < 50; unit++) await limiter.take('authenticated', 'somebody');
    await settle(store, 'silent');
  };

  describe('signals', () => {
    scenario('only a unit that appended changes wakes, with the seq of the last one', async (store) => {
      const told: number[] = [];
      const stop = store.changes.onChange((seq) => told.push(seq));
      await store.write((tx) => appendChanges(tx, [], 1));
      await assert.rejects(
        store.write(async (tx) => {
          await appendChanges(tx, [CHANGE], 1);
          throw new Error('taken back');
        }),
      );
      await silent(store);
      await store.write((tx) => appendChanges(tx, [CHANGE, CHANGE], 1));
      stop();
      assert.deepEqual(
        told.filter((seq) => seq > 0),
        [2],
      );
    });

    scenario('silent units of another store on the same database wake nobody here', async (store, open) => {
      const other = await open();
      const events = new EventEmitter();
      const told: number[] = [];
      const stop = other.changes.onChange((seq) => {
        told.push(seq);
        events.emit('told');
      });
      // A listener that has connected tells of the head of the log and of all work, once: a change whose own notice is still on its
      // way is then told of twice. Only what was appended after that is told of by its notice alone, and notices come in order.
      const connected = once(events, 'work');
      const stopWork = other.onWork('deletions', () => events.emit('work'));
      await append(store);
      await connected;
      stopWork();
      const head = await append(store);
      while (told.at(-1) !== head) await once(events, 'told');
      told.length = 0;
      await silent(store);
      const woken = once(events, 'told');
      const seq = await append(store);
      await woken;
      stop();
      assert.deepEqual(told, [seq]);
    });

    scenario('work that a unit leaves wakes those who do it, and nobody else', async (store) => {
      const told: string[] = [];
      const stops = [
        store.changes.onChange((seq) => seq > 0 && told.push(`change ${seq}`)),
        store.onWork('deliveries', () => told.push('deliveries')),
        store.onWork('deletions', () => told.push('deletions')),
      ];
      told.length = 0;
      await store.write(async (tx) => markWork(tx, 'deletions'));
      assert.ok(told.includes('deletions'));
      assert.equal(
        told.some((one) => one.startsWith('change')),
        false,
      );
      for (const stop of stops) stop();
    });
  });
});
