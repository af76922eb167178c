import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import * as world from '../../../test/support/store/fan-out-world.ts';
import { settle, withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, query, updateRows } from '../../../test/support/store/rows.ts';
import { pruneLog } from '../log/change-log.ts';
import type { Store } from '../store.ts';
import { advanceCursor, eventCounters } from './fan-out.ts';

const HOUR = 3_600_000;

/** What the fan-out does with more than it can take, with a log that is not where it was, and with time set back. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('bounds of the fan-out', () => {
    scenario('a flood fills one customer’s own room and passes; others are told meanwhile', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const other = await world.settlePaying(store, 'beta');
      const hooks = [await world.addHook(store, home), await world.addHook(store, home)];
      const theirs = await world.addHook(store, other);
      await world.append(store, world.deletions(home, world.numbered(300)));
      await world.append(store, world.deletions(other, ['x', 'y']));
      await world.append(store, world.deletions(home, world.numbered(900, 'l')));
      const fanout = world.testFanout(store, { limits: { waiting: 5, droppedKept: 3, rows: 4 } });
      await fanout.pass(false);
      assert.deepEqual(await world.toldOf(store, theirs), [
        '1 record.deleted x.doc.beta.v1',
        '2 record.deleted y.doc.beta.v1',
      ]);
      for (const hook of hooks) {
        const rows = await world.deliveriesOf(store, hook);
        assert.deepEqual(
          rows.map(({ status, error, seq }) => [status, error, seq]),
          [
            ...[1, 2, 3, 4, 5].map((seq) => ['pending', null, seq]),
            ...[6, 7, 8].map((seq) => ['dropped', 'rate_limited', seq]),
          ],
        );
      }
      const sum = (field: 'events' | 'waiting' | 'dropped' | 'unwritten'): number =>
        fanout.units.reduce((total, unit) => total + unit[field], 0);
      assert.equal(sum('events'), 1_202);
      assert.equal(sum('waiting'), 12);
      assert.equal(sum('dropped'), 6);
      assert.equal(sum('unwritten'), 2 * (1_200 - 8));
      for (const { waiting, dropped } of fanout.units) assert.ok(waiting + dropped <= 4);
    });

    scenario('room comes back with deliveries that end, and with the hour', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      let now = 1_000;
      const limits = { waiting: 2, droppedKept: 2 };
      const kept = world.testFanout(store, { clock: () => now, limits });
      const statuses = async (keys: number): Promise<string> => {
        await world.append(store, world.deletions(home, world.numbered(keys)));
        await kept.pass(false);
        const rows = await world.deliveriesOf(store, hook);
        return rows.map(({ status }) => status.slice(0, 1)).join('');
      };
      assert.equal(await statuses(2), 'pp');
      assert.equal(await statuses(1), 'ppd');
      now += HOUR - 1;
      assert.equal(await statuses(2), 'ppdd');
      now += 1;
      assert.equal(await statuses(1), 'ppddd');
      assert.equal(await statuses(1), 'ppddd');
      now += HOUR - 2;
      // One that knows nothing of the others finds the history as full.
      await world.append(store, world.deletions(home, ['k']));
      await world.testFanout(store, { clock: () => now, limits }).pass(false);
      assert.equal(await statuses(1), 'ppddd');
      // What was counted is believed for a minute.
      now += 60_000 - 1;
      assert.equal(await statuses(1), 'ppddd');
      now += 1;
      assert.equal(await statuses(3), 'ppddddd');
      await store.write((tx) =>
        updateRows(
          tx,
          'webhook_deliveries',
          { status: 'succeeded', next_attempt_at: null, body: null },
          { seq: 1 },
        ),
      );
      assert.equal(await statuses(1), 'spdddddp');
    });

    scenario('several find one another’s dropped deliveries in the history', async (store, open) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      const limits = { waiting: 0, droppedKept: 4 };
      const first = world.testFanout(store, { limits });
      const second = world.testFanout(await open(), { limits });
      await Promise.all([first.pass(false), second.pass(false)]);
      for (const [fanout, woken, rows] of [
        [first, true, 1],
        [second, true, 2],
        [first, false, 3],
        [second, false, 4],
        [first, true, 4],
        [second, false, 4],
      ] as const) {
        await world.append(store, world.deletions(home, ['k']));
        await fanout.pass(woken);
        assert.equal((await world.deliveriesOf(store, hook)).length, rows);
      }
    });

    scenario('many webhooks and changes are written in units of bounded size', async (store) => {
      const home = await world.settlePaying(store, 'acme', 'enterprise');
      const hooks: string[] = [];
      for (let index = 0; index < 100; index++) hooks.push(await world.addHook(store, home));
      await world.append(store, world.deletions(home, world.numbered(25)));
      const fanout = world.testFanout(store);
      await fanout.pass(false);
      assert.deepEqual(
        fanout.units.map((unit) => unit.waiting),
        [200, 1_000, 1_000, 300],
      );
      const expected = world
        .numbered(25)
        .map((key, index) => `${index + 1} record.deleted ${world.keyIn('acme', key)}`);
      assert.deepEqual(await world.toldOf(store, hooks[99]!), expected);
    });

    scenario('where nobody has a webhook the cursor follows, now and then', async (store) => {
      const home = await settle(store);
      for (let unit = 0; unit < 6; unit++) {
        await world.append(store, world.deletions(home, world.numbered(1_000)));
      }
      let writes = 0;
      const counted: Store = {
        ...store,
        write: (work) => {
          writes++;
          return store.write(work);
        },
      };
      const fanout = world.testFanout(counted);
      await fanout.pass(false);
      const { seq } = await world.cursorOf(store);
      assert.ok(seq >= 5_000 && seq <= 6_000);
      // Twelve batches were read.
      assert.ok(writes >= 1 && writes < 12);
      assert.deepEqual(fanout.units, []);
      const counters = await findRows(store.read, 'event_counters');
      assert.deepEqual(counters, []);
    });

    scenario('a log that ends before the cursor, or before what is known, is gone on with', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      await world.append(store, world.deletions(home, ['lost']));
      await store.write((tx) => advanceCursor(tx, 50));
      const fanout = world.testFanout(store);
      await fanout.pass(false);
      assert.match(String(fanout.errors), /^LogRewoundError/);
      assert.equal((await world.cursorOf(store)).seq, 1);
      await world.append(store, world.deletions(home, ['a', 'b', 'c']));
      await fanout.pass(true);
      // As the backup had it: one change read, one not yet, and the others never made.
      await store.write(async (tx) => {
        await query(tx, 'delete from change_log where seq > 3');
        await updateRows(tx, 'feed_head', { seq: 3 });
        await updateRows(tx, 'feed_cursors', { seq: 2 });
        await updateRows(tx, 'event_counters', { seq: 1 });
        await query(tx, 'delete from webhook_deliveries where seq > 1');
      });
      await fanout.pass(false);
      assert.equal(fanout.errors.length, 2);
      assert.deepEqual(await world.toldOf(store, hook), [
        '1 record.deleted a.doc.acme.v1',
        '2 record.deleted b.doc.acme.v1',
      ]);
      await fanout.pass(false);
      assert.equal(fanout.errors.length, 2);
    });

    scenario('a log that was pruned past the cursor is gone on with at its oldest change', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      await world.append(store, world.deletions(home, world.numbered(1_203)));
      await store.write((tx) => query(tx, 'delete from change_log where seq <= 1201'));
      await world.testFanout(store).pass(false);
      assert.deepEqual(await world.toldOf(store, hook), [
        '1 record.deleted k1202.doc.acme.v1',
        '2 record.deleted k1203.doc.acme.v1',
      ]);
    });

    scenario('what the fan-out has not read yet is not pruned, however old', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      await world.append(store, world.deletions(home, world.numbered(5)), 1);
      const prune = (): Promise<number> => store.write((tx) => pruneLog(tx, 9_000, 100));
      assert.equal(await prune(), 0);
      await store.write((tx) => advanceCursor(tx, 2));
      assert.equal(await prune(), 2);
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 3, head: 5 });
      const hook = await world.addHook(store, home);
      await world.testFanout(store).pass(false);
      assert.equal((await world.deliveriesOf(store, hook)).length, 3);
      assert.equal(await prune(), 3);
    });

    scenario('a customer who is gone has no number', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const counters = await store.write((tx) => eventCounters(tx, [home.customerId, 'gone']));
      assert.deepEqual(
        [...counters],
        [[home.customerId, { customer_id: home.customerId, seq: 0, behind: null }]],
      );
    });

    scenario('time that is set back makes nothing due earlier than what came before', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      let now = 5_000;
      const options = { clock: () => now, firstDelayMs: 30 };
      for (const time of [5_000, 4_000, 4_999, 6_000]) {
        now = time;
        await world.append(store, world.deletions(home, ['k']), time);
        await world.testFanout(store, options).pass(false);
      }
      const rows = await world.deliveriesOf(store, hook);
      assert.deepEqual(
        rows.map((row) => row.created_at),
        [5_000, 5_000, 5_000, 6_000],
      );
      assert.deepEqual(
        rows.map((row) => row.next_attempt_at),
        [5_030, 5_030, 5_030, 6_030],
      );
      assert.deepEqual(
        rows.map((row) => row.parsed?.created_at),
        ['05.000', '04.000', '04.999', '06.000'].map((seconds) => `1970-01-01T00:00:${seconds}Z`),
      );
    });

    scenario('a webhook’s turn comes no later than it was due', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const due = [null, 999, 1_000, 1_001];
      const hooks = await Promise.all(due.map((at) => world.addHook(store, home, { next_due_at: at })));
      const untouched = await world.addHook(store, home, { namespaces: '["none"]' });
      await world.append(store, world.deletions(home, ['k']));
      await world.testFanout(store).pass(false);
      const rows = await findRows(store.read, 'webhooks', { columns: ['id', 'next_due_at'] });
      const at = new Map(rows.map((row) => [row.id, row.next_due_at]));
      assert.deepEqual(
        hooks.map((hook) => at.get(hook)),
        [1_000, 999, 1_000, 1_000],
      );
      assert.equal(at.get(untouched), null);
    });
  });
});
