import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import { isSuccessor } from '../base/ids.ts';
import { readFact, renewEpoch, writeFactOnce } from './service-facts.ts';

/** Facts about the database as a whole. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('service facts', () => {
    scenario('a fact is written once and never changed', async (store) => {
      assert.equal(await readFact(store.read, 'secret_fingerprint'), null);
      assert.equal(await store.write((tx) => writeFactOnce(tx, 'secret_fingerprint', 'one')), 'one');
      assert.equal(await store.write((tx) => writeFactOnce(tx, 'secret_fingerprint', 'two')), 'one');
      assert.equal(await readFact(store.read, 'secret_fingerprint'), 'one');
    });

    scenario('two processes that write a fact together agree', async (store, open) => {
      const other = await open();
      const values = await Promise.all([
        store.write((tx) => writeFactOnce(tx, 'secret_fingerprint', 'one')),
        other.write((tx) => writeFactOnce(tx, 'secret_fingerprint', 'two')),
      ]);
      assert.equal(values[0], values[1]);
    });

    scenario('the epoch is made with the database and kept', async (store, open) => {
      const { epoch } = await store.changes.bounds();
      assert.match(epoch, /^[0-9a-f-]{36}$/);
      const again = await open();
      assert.equal((await again.changes.bounds()).epoch, epoch);
      assert.equal(await readFact(again.read, 'epoch'), epoch);
    });

    scenario('a renewed epoch is a successor, the same for all processes', async (store, open) => {
      const other = await open();
      const { epoch } = await store.changes.bounds();
      const first = await store.write((tx) => renewEpoch(tx, 1_000));
      assert.ok(isSuccessor(first, epoch));
      assert.equal((await other.changes.bounds()).epoch, first);
      await Promise.all([store, other].map((each) => each.write((tx) => renewEpoch(tx, 500))));
      const { epoch: last } = await store.changes.bounds();
      assert.ok(isSuccessor(last, first));
      assert.equal((await other.changes.bounds()).epoch, last);
    });

    it('two databases have two epochs', async () => {
      const epochs: string[] = [];
      for (let i = 0; i < 2; i++) {
        await withStore(create, async (store) => {
          epochs.push((await store.changes.bounds()).epoch);
        });
      }
      assert.notEqual(epochs[0], epochs[1]);
    });
  });
});
