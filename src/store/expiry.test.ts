import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, it } from 'node:test';
import { changesAfter } from '../../test/support/feed/changes-after.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { putRecord, settle, withStore } from '../../test/support/store/fixtures.ts';
import { findRows, query, updateRows } from '../../test/support/store/rows.ts';
import { plansOf } from '../../test/support/store/statement-plans.ts';
import { deleteSome } from '../control/namespaces/deletion.ts';
import { startSweeper, sweepExpired } from '../control/records/expiry.ts';
import { addToRecordsCount, lockCustomer } from './accounts.ts';
import { eraseSuperseded } from './log/change-log.ts';
import { closeNamespace } from './namespaces.ts';
import { deleteDue, lockDueRecords, nextDue } from './records.ts';
import type { Store, Tx } from './store.ts';
import { advanceCursor } from './webhooks/fan-out.ts';

/** Records whose time has come. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('expiry', () => {
    scenario(
      'leaves a record whose time was extended between the look and the deletion (R04)',
      async (store) => {
        const home = await settle(store, 'acme');
        await store.write((tx) => putRecord(tx, home, 'due', { expires_at: 100 }));
        await store.write((tx) => putRecord(tx, home, 'kept', { expires_at: 100 }));
        await store.write(async (tx) => {
          const due = await lockDueRecords(tx, 100, 10);
          assert.equal(due.length, 2);
          // What a PATCH commits that came before the locks.
          await updateRows(tx, 'records', { expires_at: 101 }, { key: 'kept.doc.acme.v1' });
          const gone = await deleteDue(tx, due, 100);
          assert.deepEqual(
            gone.map(({ key }) => key),
            ['due.doc.acme.v1'],
          );
        });
        assert.deepEqual(await keys(store), ['kept.doc.acme.v1']);
      },
    );

    scenario('deletes what is due and nothing else, with counts, log and payloads', async (store) => {
      const home = await settle(store, 'acme');
      const other = await settle(store, 'other');
      await store.write((tx) => putRecord(tx, home, 'due', { expires_at: 100 }));
      await store.write((tx) => putRecord(tx, home, 'later', { expires_at: 101 }));
      await store.write((tx) => putRecord(tx, home, 'never'));
      await store.write((tx) => putRecord(tx, other, 'due', { expires_at: 50 }));
      assert.equal(await sweepExpired(store, 49, 10), 0);
      assert.equal(await sweepExpired(store, 100, 10), 2);
      assert.deepEqual(await keys(store), ['later.doc.acme.v1', 'never.doc.acme.v1']);
      assert.deepEqual(await counts(store), {
        acme: 2,
        other: 0,
        'acme@example.org': 2,
        'other@example.org': 0,
      });
      await store.write(async (tx) => {
        await advanceCursor(tx, 6);
        await eraseSuperseded(tx, 10);
      });
      const log = await changesAfter(store.changes, 0, 100);
      const payloads = log.flatMap((change) =>
        change.type === 'record.upserted' ? [change.data !== null] : [],
      );
      assert.deepEqual(payloads, [false, true, true, false]);
      assert.deepEqual(log.slice(4), [
        {
          seq: 5,
          at: 100,
          owner: other.customerId,
          cause: 'expiry',
          type: 'record.deleted',
          key: 'due.doc.other.v1',
          namespace: 'other',
        },
        {
          seq: 6,
          at: 100,
          owner: home.customerId,
          cause: 'expiry',
          type: 'record.deleted',
          key: 'due.doc.acme.v1',
          namespace: 'acme',
        },
      ]);
    });

    scenario('takes no more than its limit, the oldest first', async (store) => {
      const home = await settle(store);
      for (const at of [3, 1, 2])
        await store.write((tx) => putRecord(tx, home, `k${at}`, { expires_at: at }));
      assert.equal(await sweepExpired(store, 10, 2), 2);
      assert.deepEqual(await keys(store), ['k3.doc.acme.v1']);
      assert.equal(await sweepExpired(store, 10, 2), 1);
      assert.equal(await sweepExpired(store, 10, 2), 0);
    });

    scenario('is found by an index, however much waits', async (store) => {
      const plans = await plansOf(store, async (db) => {
        await nextDue(db);
        await lockDueRecords(db as Tx, 10, 5);
      });
      assert.equal(plans.length, 2);
      for (const plan of plans) {
        assert.match(plan, /(INDEX|Scan using) records_expiry/);
        assert.doesNotMatch(plan, /Sort|TEMP B-TREE/);
      }
    });

    scenario('records of a namespace that is being deleted keep no others waiting', async (store) => {
      const closing = await settle(store, 'closing');
      const open = await settle(store, 'open');
      const { customerId, namespaceId } = closing;
      await store.write(async (tx) => {
        for (let index = 0; index < 6; index++) {
          await putRecord(tx, closing, `k${index}`, { expires_at: index });
        }
        await putRecord(tx, open, 'due', { expires_at: 9 });
        await lockCustomer(tx, customerId);
        await addToRecordsCount(tx, customerId, -6, 0);
        await closeNamespace(tx, namespaceId, 1);
      });
      assert.equal(await sweepExpired(store, 9, 4), 4);
      assert.equal(await sweepExpired(store, 9, 4), 3);
      assert.equal(await sweepExpired(store, 9, 4), 0);
      assert.deepEqual(await keys(store), []);
      const { closing: _closing, ...counted } = await counts(store);
      assert.deepEqual(counted, { open: 0, 'closing@example.org': 0, 'open@example.org': 0 });
      const deletions = (await changesAfter(store.changes, 0, 100)).filter(
        ({ type }) => type === 'record.deleted',
      );
      assert.deepEqual(
        deletions.map(({ cause, namespace }) => `${cause} ${namespace}`),
        [...Array<string>(6).fill('cascade closing'), 'expiry open'],
      );
      assert.equal(await store.write((tx) => deleteSome(tx, namespaceId, 10)), true);
    });

    scenario('several sweepers and writers together tell of each record once', async (store, open) => {
      const home = await settle(store);
      const other = await open();
      await store.write(async (tx) => {
        for (let index = 0; index < 60; index++) await putRecord(tx, home, `k${index}`, { expires_at: 10 });
      });
      const sweeps = [store, other, store, other].map(async (one) => {
        let deleted = 0;
        for (let more = 1; more > 0; deleted += more) more = await sweepExpired(one, 10, 25);
        return deleted;
      });
      const writes = Array.from({ length: 20 }, (_, index) =>
        other.write((tx) => putRecord(tx, home, `new${index}`)),
      );
      const deleted = await Promise.all(sweeps);
      await Promise.all(writes);
      assert.equal(
        deleted.reduce((sum, count) => sum + count),
        60,
      );
      const log = await changesAfter(store.changes, 0, 1_000);
      const told = log.flatMap((change) => (change.type === 'record.deleted' ? [change.key] : []));
      assert.equal(told.length, 60);
      assert.equal(new Set(told).size, 60);
      assert.deepEqual(await counts(store), { acme: 20, 'acme@example.org': 20 });
    });

    scenario('the sweeper deletes by itself, survives failures and stops when told', async (store) => {
      const home = await settle(store);
      const abort = new AbortController();
      const events = new EventEmitter();
      let now = 0;
      let faults = 1;
      const failing: Store = {
        ...store,
        write: (work) => (faults-- > 0 ? Promise.reject(new Error('down')) : store.write(work)),
      };
      const stopped = startSweeper({
        store: failing,
        clock: () => now,
        signal: abort.signal,
        onError: (error) => events.emit('fault', error),
      });
      await store.write((tx) => putRecord(tx, home, 'a', { expires_at: 100 }));
      const fault = once(events, 'fault');
      now = 100;
      assert.match(String((await fault)[0]), /down/);
      while ((await keys(store)).length > 0) {
        const woken = new Promise<void>((resolve) => {
          const stop = store.changes.onChange(() => {
            stop();
            resolve();
          });
        });
        if ((await keys(store)).length > 0) await woken;
      }
      abort.abort();
      await stopped;
    });
  });
});

async function keys(store: Store): Promise<string[]> {
  const rows = await findRows(store.read, 'records', { columns: ['key'], order: 'key' });
  return rows.map((row) => row.key);
}

async function counts(store: Store): Promise<Record<string, number>> {
  const namespaces = await findRows(store.read, 'namespaces', { columns: ['name', 'records_count'] });
  const customers = await query<{ name: string; records_count: number }>(
    store.read,
    'select email as name, records_count from users join customers on customers.id = users.id',
  );
  return Object.fromEntries([...namespaces, ...customers].map((row) => [row.name, row.records_count]));
}
