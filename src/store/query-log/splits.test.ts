import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { queryLogRow } from '../../../test/support/feed/ports/query-log-suite.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { type Home, settle, withStore } from '../../../test/support/store/fixtures.ts';
import { DAY, HOUR, NOW } from '../../../test/support/store/log-world.ts';
import { findRows, updateRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { loggedLabel, type QueryLogRow } from '../../feed/ports/query-log.ts';
import type { Store } from '../store.ts';
import { pruneTelemetry } from '../upkeep.ts';
import { queryLogSink } from './add-rows.ts';
import { type CountGroup, countSteps } from './hours.ts';

const { signal } = new AbortController();
let batches = 0;

function rowOf(home: Home, resource: string | null, at = NOW - 1): QueryLogRow {
  const row = queryLogRow(home.namespaceId, at);
  if (resource === null) return { ...row, status: 'refused', resource: null, version: null };
  return { ...row, resource: loggedLabel(resource), version: loggedLabel('v1') };
}

async function add(store: Store, node: string, rows: readonly QueryLogRow[], now = NOW): Promise<void> {
  batches++;
  await queryLogSink(store, () => now).add({ node, batch: `splits-${batches}`, rows, dropped: [] });
}

/** All counts of a group in one step. */
async function sums(
  store: Store,
  homes: readonly Home[],
  group: CountGroup,
): Promise<Record<string, number>> {
  const interval = { since: 0, until: NOW + 60 * DAY };
  const found = await countSteps(
    store.read,
    homes.map(({ namespaceId }) => namespaceId),
    { group, status: null, span: HOUR, interval, step: interval.until },
  );
  const totals: Record<string, number> = {};
  for (const { key, total } of found) totals[key] = (totals[key] ?? 0) + total;
  return totals;
}

onEachEngine((create) => {
  const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
    it(title, () => withStore(create, run));
  };

  describe('query log, splits', () => {
    scenario(
      'hours are counted by resource, transport and node, over batches of several nodes',
      async (store) => {
        const [home, other] = [await settle(store), await settle(store, 'other')];
        const dot = { ...rowOf(home, 'flags'), transport: 'dot' } as const;
        await add(store, 'fra1', [rowOf(home, 'flags'), dot, rowOf(home, null), rowOf(other, 'temp')]);
        await add(store, 'ams1', [rowOf(home, 'flags', NOW - 2 * HOUR), rowOf(home, 'temp')]);
        assert.deepEqual(await sums(store, [home], 'resource'), { flags: 3, temp: 1 });
        assert.deepEqual(await sums(store, [home], 'transport'), { udp: 4, dot: 1 });
        assert.deepEqual(await sums(store, [home], 'node'), { fra1: 3, ams1: 2 });
        assert.deepEqual(await sums(store, [home, other], 'resource'), { flags: 3, temp: 2 });
        assert.deepEqual(await sums(store, [home], 'status'), { hit: 4, refused: 1 });
      },
    );

    scenario('a batch that comes again counts once', async (store) => {
      const home = await settle(store);
      const batch = { node: 'fra1', batch: 'twice', rows: [rowOf(home, 'flags')], dropped: [] };
      const sink = queryLogSink(store, () => NOW);
      for (let i = 0; i < 2; i++) await sink.add(batch);
      assert.deepEqual(await sums(store, [home], 'resource'), { flags: 1 });
    });

    scenario('a namespace has so many resources; further ones are counted together', async (store) => {
      const [home, other] = [await settle(store), await settle(store, 'other')];
      const names = Array.from({ length: LIMITS.queryLogSplits }, (_, i) => `r${i}`);
      await add(
        store,
        'fra1',
        names.map((name) => rowOf(home, name)),
      );
      const full = await sums(store, [home], 'resource');
      assert.deepEqual(Object.keys(full).sort(), names.toSorted());
      await add(
        store,
        'fra1',
        ['more', 'even-more', 'r7'].map((name) => rowOf(home, name)),
      );
      await add(store, 'fra1', [rowOf(home, 'more'), rowOf(other, 'more')]);
      const { '*': rest, r7, ...others } = await sums(store, [home], 'resource');
      assert.deepEqual([rest, r7, Object.keys(others).length], [3, 2, LIMITS.queryLogSplits - 1]);
      // Each namespace by itself.
      assert.deepEqual(await sums(store, [other], 'resource'), { more: 1 });
    });

    scenario('a customer has so many resources; further ones are counted together', async (store) => {
      const homes = [];
      for (let i = 0; i <= LIMITS.queryLogResources / LIMITS.queryLogSplits; i++) {
        homes.push(await settle(store, `space${i}`));
      }
      const other = await settle(store, 'other');
      const ids = homes.map(({ customerId }) => customerId);
      for (const customer_id of ids) {
        await store.write((tx) => updateRows(tx, 'namespaces', { customer_id: ids[0]! }, { customer_id }));
      }
      const last = homes.pop()!;
      for (const home of homes) {
        await add(
          store,
          'fra1',
          Array.from({ length: LIMITS.queryLogSplits }, (_, i) => rowOf(home, `r${i}`)),
        );
      }
      const full = await findRows(store.read, 'query_log_splits', { where: { kind: 'resource' } });
      assert.equal(full.length, LIMITS.queryLogResources);
      assert.ok(full.every(({ value }) => value !== '*'));
      await add(store, 'fra1', [rowOf(last, 'more'), rowOf(other, 'more')]);
      assert.deepEqual(await sums(store, [last], 'resource'), { '*': 1 });
      assert.deepEqual(await sums(store, [other], 'resource'), { more: 1 });
      // Transports and nodes are few.
      assert.deepEqual(await sums(store, [last], 'node'), { fra1: 1 });
    });

    scenario(
      'counts of hours stay for 30 days, those of minutes for one, and a split goes with its last',
      async (store) => {
        const home = await settle(store);
        await add(store, 'fra1', [rowOf(home, 'old')]);
        const later = NOW + (LIMITS.queryLogDays - 1) * DAY;
        await add(store, 'ams1', [rowOf(home, 'new', later - 1)], later);
        await pruneTelemetry(store, later, signal);
        assert.deepEqual(await sums(store, [home], 'resource'), { old: 1, new: 1 });
        const spans = await findRows(store.read, 'query_log_counts', {
          columns: ['span'],
          where: { span: 60_000 },
        });
        assert.equal(spans.length, 1);
        await pruneTelemetry(store, later + 3 * DAY, signal);
        assert.deepEqual(await sums(store, [home], 'resource'), { new: 1 });
        const left = await findRows(store.read, 'query_log_splits', { columns: ['value'], order: 'value' });
        assert.deepEqual(
          left.map(({ value }) => value),
          ['ams1', 'new', 'udp'],
        );
      },
    );
  });
});
