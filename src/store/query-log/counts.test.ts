import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { queryLogRow } from '../../../test/support/feed/ports/query-log-suite.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { type Home, settle, withStore } from '../../../test/support/store/fixtures.ts';
import { addRows, DAY, HOUR, MINUTE, NOW, spread } from '../../../test/support/store/log-world.ts';
import { findRows, updateRows } from '../../../test/support/store/rows.ts';
import { storedRows } from '../../../test/support/store/stored-rows.ts';
import type { Store } from '../store.ts';
import { queryLogSink } from './add-rows.ts';
import { BATCH_NUMBERS } from './block.ts';
import { countRows } from './counts.ts';
import { lastBlock, readNewRows } from './new-rows.ts';
import { listSeries, readPage } from './page.ts';

const EVERYTHING = { since: 0, until: Number.MAX_SAFE_INTEGER };

async function seriesOf(store: Store, home: Home): Promise<number[]> {
  return (await listSeries(store.read, home.customerId)).map(({ id }) => id);
}

/** Sums that are kept beside the rows agree with the rows, and pages have every row once. */
onEachEngine((create) => {
  const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
    it(title, () => withStore(create, run));
  };

  describe('query log', () => {
    scenario('a stream shows no row of a namespace that is being deleted (Q03)', async (store) => {
      const home = await settle(store);
      await addRows(store, [queryLogRow(home.namespaceId, NOW - 1)]);
      const last = await lastBlock(store.read);
      const shown = async (): Promise<number> =>
        (await readNewRows(store.read, [home.customerId], { after: 0, last, limit: 10 })).rows.length;
      assert.equal(await shown(), 1);
      await store.write((tx) => updateRows(tx, 'namespaces', { closing: 1 }, { id: home.namespaceId }));
      assert.equal(await shown(), 0);
    });

    scenario('a count is exact for every interval, on or between minutes and hours', async (store) => {
      const home = await settle(store);
      const rows = [
        ...spread(home.namespaceId, { since: NOW - DAY + 1, until: NOW, count: 1500 }),
        ...spread(home.namespaceId, { since: NOW - 90_000, until: NOW, count: 300 }, { status: 'miss' }),
      ];
      await addRows(store, rows);
      const series = await seriesOf(store, home);
      assert.equal(series.length, 2);
      const hour = Math.floor(NOW / HOUR) * HOUR;
      const times = [
        NOW - DAY,
        NOW - DAY + 61_001,
        hour - 3 * HOUR,
        hour - 3 * HOUR + 1,
        hour - MINUTE,
        hour,
        hour + MINUTE,
        hour + MINUTE + 59_999,
        NOW - 70_000,
        NOW - 1,
        NOW + DAY,
      ];
      for (const since of times) {
        for (const until of times) {
          const expected = rows.filter(({ at }) => at >= since && at < until).length;
          const counted = await countRows(store.read, series, { since, until });
          assert.equal(counted, expected, `${since - NOW} to ${until - NOW}`);
        }
      }
    });

    scenario('pages have every row once, newest first, also rows of one millisecond', async (store) => {
      const home = await settle(store);
      const times = { since: NOW - 20 * MINUTE, until: NOW, count: 100 };
      await addRows(store, spread(home.namespaceId, times));
      await addRows(store, spread(home.namespaceId, { ...times, since: NOW - 5 }, { status: 'miss' }));
      const series = await seriesOf(store, home);
      const ids: number[] = [];
      let before = null;
      for (;;) {
        const page = await readPage(store.read, series, { interval: EVERYTHING, before, limit: 7, now: NOW });
        if (page.length === 0) break;
        ids.push(...page.map(({ id }) => id));
        const { at, id } = page.at(-1)!;
        before = { at, id };
      }
      const all = await storedRows(store);
      assert.deepEqual(
        ids,
        all.map(({ id }) => id),
      );
      assert.equal(new Set(ids).size, 200);
    });

    scenario('a page over many series finds the same rows as one over few', async (store) => {
      const homes = [];
      for (let i = 0; i < 20; i++) homes.push(await settle(store, `space${i}`));
      for (const [i, { namespaceId }] of homes.entries()) {
        await addRows(store, spread(namespaceId, { since: NOW - (i + 1) * HOUR, until: NOW, count: 50 }));
      }
      const series = (await Promise.all(homes.map((home) => seriesOf(store, home)))).flat();
      assert.equal(series.length, 20);
      const all = await storedRows(store);
      const ids: number[] = [];
      let before = null;
      for (let page = 0; page < 10; page++) {
        const rows = await readPage(store.read, series, {
          interval: EVERYTHING,
          before,
          limit: 100,
          now: NOW,
        });
        ids.push(...rows.map(({ id }) => id));
        const { at, id } = rows.at(-1)!;
        before = { at, id };
      }
      assert.deepEqual(
        ids,
        all.map(({ id }) => id),
      );
    });

    scenario('a row of the future counts as of now, and one that is too old is left out', async (store) => {
      const home = await settle(store);
      const times = [NOW + HOUR, NOW - DAY, NOW - DAY + 1];
      await addRows(
        store,
        times.flatMap((at) => spread(home.namespaceId, { since: at, until: at, count: 1 })),
      );
      const rows = await storedRows(store);
      assert.deepEqual(
        rows.map(({ at }) => at),
        [NOW, NOW - DAY + 1],
      );
      assert.equal(await countRows(store.read, await seriesOf(store, home), EVERYTHING), 2);
    });

    scenario(
      'rows of a namespace that is unknown or closing are left out, the rest of the batch is kept',
      async (store) => {
        const [home, closing] = [await settle(store, 'acme'), await settle(store, 'gone')];
        await store.write((tx) => updateRows(tx, 'namespaces', { closing: 1 }, { id: closing.namespaceId }));
        const ids = [closing.namespaceId, 'unknown', home.namespaceId];
        await addRows(
          store,
          ids.flatMap((id) => spread(id, { since: NOW, until: NOW, count: 2 })),
        );
        assert.equal(await countRows(store.read, await seriesOf(store, home), EVERYTHING), 2);
        const series = await findRows(store.read, 'query_log_series', { columns: ['namespace_id'] });
        assert.deepEqual(
          series.map(({ namespace_id }) => namespace_id),
          [home.namespaceId],
        );
      },
    );

    scenario('ids ascend over batches', async (store) => {
      const home = await settle(store);
      const ids: number[] = [];
      for (const now of [NOW - 1, NOW, NOW]) {
        await addRows(store, spread(home.namespaceId, { since: now - 5, until: now, count: 5 }), now);
        const rows = (await storedRows(store)).filter(({ id }) => !ids.includes(id));
        const added = rows.map(({ id }) => id).sort((a, b) => a - b);
        assert.ok(added[0]! > (ids.at(-1) ?? 0));
        ids.push(...added);
      }
      // At most one batch a millisecond: the third goes on after the second.
      assert.deepEqual(
        ids.map((id) => Math.floor(id / BATCH_NUMBERS)),
        [NOW - 1, NOW, NOW + 1].flatMap((batch) => new Array<number>(5).fill(batch)),
      );
    });

    scenario('the ids of a batch are the same, whatever rows other customers have in it', async (store) => {
      const [home, other] = [await settle(store, 'acme'), await settle(store, 'other')];
      const times = { since: NOW - 40, until: NOW, count: 4 };
      const own = spread(home.namespaceId, times);
      const idsWith = async (others: number): Promise<number[]> => {
        const before = new Set((await storedRows(store)).map(({ id }) => id));
        const rows = own.flatMap((row) => [
          ...Array.from({ length: others }, () => queryLogRow(other.namespaceId, row.at)),
          row,
        ]);
        await queryLogSink(
          store,
          () => NOW,
          () => 0,
        ).add({ node: 'n', batch: `others-${others}`, rows, dropped: [] });
        const all = await storedRows(store);
        const added = all.filter(
          ({ id, namespace_id }) => namespace_id === home.namespaceId && !before.has(id),
        );
        return added.map(({ id }) => id % BATCH_NUMBERS).sort((a, b) => a - b);
      };
      assert.deepEqual(await idsWith(0), [1, 2, 3, 4]);
      assert.deepEqual(await idsWith(100), [1, 2, 3, 4]);
    });

    scenario('the blocks of one customer in a batch begin at random places, in order', async (store) => {
      const home = await settle(store);
      const rows = [
        ...spread(home.namespaceId, { since: NOW - 40, until: NOW, count: 4 }),
        ...spread(home.namespaceId, { since: NOW - 40, until: NOW, count: 3 }, { status: 'miss' }),
      ];
      const asked: number[] = [];
      const answers = [700, 30];
      const random = (most: number): number => {
        asked.push(most);
        return answers.shift()!;
      };
      await queryLogSink(store, () => NOW, random).add({ node: 'n', batch: '1', rows, dropped: [] });
      assert.deepEqual(asked, [2040, 2040]);
      const ids = (await storedRows(store)).map(({ id }) => id % BATCH_NUMBERS).sort((a, b) => a - b);
      assert.deepEqual(ids, [31, 32, 33, 34, 705, 706, 707]);
    });

    scenario('blocks of several nodes that overlap in time make one order', async (store) => {
      const home = await settle(store);
      const since = NOW - 8000;
      for (let node = 0; node < 3; node++) {
        await addRows(store, spread(home.namespaceId, { since: since + node * 300, until: NOW, count: 700 }));
      }
      // Late, of the same seconds: long after those blocks.
      await addRows(store, spread(home.namespaceId, { since, until: since + 1, count: 5 }));
      const series = await seriesOf(store, home);
      const all = await storedRows(store);
      const seen: number[] = [];
      let before = null;
      for (;;) {
        const page = await readPage(store.read, series, {
          interval: EVERYTHING,
          before,
          limit: 101,
          now: NOW,
        });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
        const { at, id } = page.at(-1)!;
        before = { at, id };
      }
      assert.deepEqual(
        seen,
        all.map(({ id }) => id),
      );
      for (const [from, until] of [
        [since, NOW],
        [since + 1, since + 1999],
        [since + 2500, since + 2501],
        [NOW - 100, NOW + 5],
      ] as const) {
        const inside = all.filter(({ at }) => at >= from && at < until);
        assert.equal(await countRows(store.read, series, { since: from, until }), inside.length);
        const page = await readPage(store.read, series, {
          interval: { since: from, until },
          before: null,
          limit: 3000,
          now: NOW,
        });
        assert.deepEqual(
          page.map(({ id }) => id),
          inside.map(({ id }) => id),
        );
      }
    });
  });
});
