import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { settle, withStore } from '../../test/support/store/fixtures.ts';
import { insertRows, oneRow, updateRows } from '../../test/support/store/rows.ts';
import { isSuccessor } from '../base/ids.ts';
import { readFact, renewEpoch, writeFactOnce } from './service-facts.ts';
import { eventCounters } from './webhooks/fan-out.ts';

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

    scenario(
      'no number of an event is given again, also when one backup is restored twice',
      async (store) => {
        const { customerId } = await settle(store);
        const held = async (): Promise<number> => (await oneRow(store.read, 'event_counters')).seq;
        const restored = async (at: number, seq = 41): Promise<number> => {
          await store.write(async (tx) => {
            await updateRows(tx, 'event_counters', { seq });
            await tx.execute("update service_facts set value = 'backup.1' where name = 'epoch'", []);
            await renewEpoch(tx, at);
          });
          return held();
        };
        await store.write((tx) => insertRows(tx, 'event_counters', { customer_id: customerId, seq: 41 }));
        const now = Date.UTC(2026, 10, 29);
        const first = await restored(now);
        // A second later, after as many events as a second has at most.
        assert.ok((await restored(now + 1_000)) >= first + 1_000_000);
        assert.ok(first >= 5_000_041);
        assert.ok((await restored(2)) >= 5_000_041, 'at least the constant');
        assert.ok(
          (await restored(999_999_999_999_999)) < Number.MAX_SAFE_INTEGER / 1.5,
          'a clock that is wrong',
        );
        assert.equal(await restored(now, 2 ** 51), 2 ** 51 + 5_000_000);
      },
    );

    scenario(
      'no number of an event is given again to a customer whose first event came after the backup',
      async (store) => {
        const { customerId } = await settle(store);
        const first = async (): Promise<number> => {
          const counters = await store.write((tx) => eventCounters(tx, [customerId]));
          await store.write((tx) => tx.execute('delete from event_counters', []));
          return counters.get(customerId)!.seq;
        };
        assert.equal(await first(), 0);
        const now = Date.UTC(2026, 10, 29);
        let before = 0;
        for (const at of [2, now, now + 1_000, 999_999_999_999_999, now]) {
          await store.write((tx) => renewEpoch(tx, at));
          const number = await first();
          assert.ok(number >= before + 1_000_000, `${number} after ${before}`);
          before = number;
        }
        assert.ok(before < Number.MAX_SAFE_INTEGER / 1.5);
      },
    );

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
