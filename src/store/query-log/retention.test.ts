import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { settle, withStore } from '../../../test/support/store/fixtures.ts';
import { addRows, DAY, HOUR, MINUTE, NOW, spread } from '../../../test/support/store/log-world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { storedRows } from '../../../test/support/store/stored-rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { deleteClosed, deleteNamespace, LOG_UNIT } from '../../control/namespaces/deletion.ts';

import type { Store } from '../store.ts';
import { pruneTelemetry } from '../upkeep.ts';
import { sumDeletedUsage, sumUsage, usageSink } from '../usage.ts';
import { BATCH_NUMBERS } from './block.ts';
import { countRows } from './counts.ts';
import { lastBlock, readNewRows } from './new-rows.ts';
import { listSeries } from './page.ts';

const TABLES = ['query_log_series', 'query_log_counts', 'usage_hours'] as const;

/** Rows of the log, and of the other tables. */
async function sizes(store: Store): Promise<number[]> {
  const rows = await storedRows(store);
  const others = TABLES.map((table) => findRows(store.read, table));
  return [rows.length, ...(await Promise.all(others)).map(({ length }) => length)];
}

/** Rows leave after their time, and with their namespace. */
onEachEngine((create) => {
  const scenario = (
    title: string,
    run: (store: Store, open: () => Promise<Store>) => Promise<void>,
  ): void => {
    it(title, () => withStore(create, run));
  };
  const { signal } = new AbortController();
  const all = { since: 0, until: 10 * DAY };

  describe('query log, retention', () => {
    scenario('a batch of usage counts once for as long as a node may send it (C10)', async (store) => {
      const home = await settle(store);
      const hour = Math.floor(NOW / HOUR) * HOUR;
      const batch = {
        node: 'node1',
        batch: 'b1',
        counts: [{ namespaceId: home.namespaceId, hour, answers: 7 }],
      };
      const counted = async (): Promise<number | undefined> =>
        (await sumUsage(store.read, [home.namespaceId], { since: 0, until: NOW + 30 * DAY })).get(
          home.namespaceId,
        );
      await usageSink(store, () => NOW).add(batch);
      // A node that was cut off sends it until then; an hour more for clocks that differ.
      const later = NOW + LIMITS.usageSpoolDays * DAY + HOUR;
      await pruneTelemetry(store, later, signal);
      await usageSink(store, () => later).add(batch);
      assert.equal(await counted(), 7);
      // Of what is forgotten nothing may be accepted: a count that old is left out (`meter.ts`).
      assert.ok(LIMITS.usageBatchDays > LIMITS.usageSpoolDays);
    });

    scenario('a reader gets every row once and in order, while two processes add', async (store, open) => {
      const [home, other] = [await settle(store), await settle(store, 'other')];
      const second = await open();
      const seen: number[] = [];
      let after = 0;
      const readOn = async (): Promise<void> => {
        const last = await lastBlock(store.read);
        for (;;) {
          const { rows, end } = await readNewRows(store.read, [home.customerId], { after, last, limit: 30 });
          seen.push(...rows.map(({ id }) => id));
          if (end === null) break;
          after = end;
        }
      };
      const adding = Array.from({ length: 30 }, (_, i) =>
        addRows(
          i % 2 === 0 ? store : second,
          [home, other].flatMap(({ namespaceId }) =>
            spread(namespaceId, { since: NOW - 9, until: NOW, count: 10 }),
          ),
        ),
      );
      let isAdding = true;
      const added = Promise.all(adding).finally(() => {
        isAdding = false;
      });
      while (isAdding) await readOn();
      await added;
      await readOn();
      assert.equal(seen.length, 300);
      assert.deepEqual(
        seen,
        [...new Set(seen)].sort((a, b) => a - b),
      );
    });

    scenario('pruning leaves the rows of the window and exact counts', async (store) => {
      const home = await settle(store);
      const add = (since: number, until: number, count: number): Promise<void> =>
        addRows(store, spread(home.namespaceId, { since, until, count }), until);
      await add(NOW - 3 * HOUR, NOW, 1200);
      await add(NOW, NOW + 3 * HOUR, 600);
      // Sent late, by a node that was cut off.
      await addRows(
        store,
        spread(home.namespaceId, { since: NOW, until: NOW + 1, count: 3 }),
        NOW + 3 * HOUR,
      );
      const later = NOW + DAY + HOUR;
      await pruneTelemetry(store, later, signal);
      const since = later - DAY;
      const series = (await listSeries(store.read, home.customerId)).map(({ id }) => id);
      const window = { since, until: later };
      assert.equal(await countRows(store.read, series, window), 400);
      const oldest = (await storedRows(store)).filter(({ id }) => id < (NOW + HOUR) * BATCH_NUMBERS);
      assert.deepEqual(oldest, []);
      const starts = await findRows(store.read, 'query_log_counts', {
        columns: ['span', 'start'],
        where: { span: MINUTE },
      });
      assert.ok(starts.every(({ span, start }) => start + span > since - MINUTE));
      await pruneTelemetry(store, later + (LIMITS.queryLogDays + 1) * DAY, signal);
      assert.deepEqual(await sizes(store), [0, 1, 0, 0]);
      const batches = await findRows(store.read, 'query_log_batches', { columns: ['batch'] });
      assert.deepEqual(batches, []);
    });

    scenario(
      'a deleted namespace takes its rows and counts with it, and leaves its usage without a name',
      async (store) => {
        const [home, other] = [await settle(store), await settle(store, 'other')];
        for (const { namespaceId } of [home, other]) {
          for (let batch = 0; batch < 2; batch++) {
            const times = { since: NOW - HOUR, until: NOW, count: (LOG_UNIT * 3) / 4 };
            await addRows(store, spread(namespaceId, times, { status: batch === 0 ? 'hit' : 'miss' }));
          }
          await usageSink(store, () => NOW).add({
            node: 'node1',
            batch: namespaceId,
            counts: Array.from({ length: 1000 }, (_, i) => ({ namespaceId, hour: i * HOUR, answers: 2 })),
          });
        }
        const [, , counts] = await sizes(store);
        await deleteNamespace(testDeps(store), testActor(home), home.namespaceId);
        assert.deepEqual(await listSeries(store.read, home.customerId), []);
        // Also while the deletion goes on: the total of an account must not fall meanwhile.
        assert.equal(await sumDeletedUsage(store.read, home.customerId, [], all), 480);
        assert.equal(await sumDeletedUsage(store.read, home.customerId, [home.namespaceId], all), 0);
        await deleteClosed({ store, clock: () => NOW, signal });
        assert.deepEqual(await sizes(store), [LOG_UNIT * 1.5, 2, counts! / 2, 1000]);
        const hours = { since: 100 * HOUR, until: 140 * HOUR };
        assert.equal(await sumDeletedUsage(store.read, home.customerId, [], hours), 80);
        assert.equal(await sumDeletedUsage(store.read, other.customerId, [], hours), 0);
        const left = await sumUsage(store.read, [home.namespaceId, other.namespaceId], hours);
        assert.deepEqual([...left], [[other.namespaceId, 80]]);
      },
    );

    scenario('hourly sums leave after 400 days', async (store) => {
      const home = await settle(store);
      const now = 500 * DAY;
      const hours = [99 * DAY, 100 * DAY, 101 * DAY];
      await usageSink(store, () => now).add({
        node: 'node1',
        batch: '1',
        counts: hours.map((hour) => ({ namespaceId: home.namespaceId, hour, answers: 1 })),
      });
      await pruneTelemetry(store, now, signal);
      const left = await findRows(store.read, 'usage_hours', { columns: ['hour'], order: 'hour' });
      assert.deepEqual(
        left.map(({ hour }) => hour),
        [100 * DAY, 101 * DAY],
      );
      await pruneTelemetry(store, now + 8 * DAY, signal);
      assert.deepEqual(await findRows(store.read, 'usage_batches', { columns: ['batch'] }), []);
    });
  });
});
