import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  type Json,
  openWorld,
  type World,
} from '../../../test/support/http/world.ts';
import { TIERS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import { usageSink } from '../../store/usage.ts';
import { deleteClosed } from '../namespaces/deletion.ts';

const HOUR = 3_600_000;
const { signal } = new AbortController();
let batches = 0;

async function inWorld(
  store: Store,
  run: (world: World) => Promise<void>,
  options: Parameters<typeof openWorld>[1] = {},
): Promise<void> {
  const world = await openWorld(store, options);
  try {
    await run(world);
    assert.deepEqual(world.errors, []);
  } finally {
    await world.close();
  }
}

/** Adds answered reads as a node does. */
async function count(world: World, namespaceId: string, hour: number, answers: number): Promise<void> {
  batches++;
  const counts = [{ namespaceId, hour, answers }];
  await usageSink(world.store, world.now).add({ node: 'api', batch: `api-${batches}`, counts });
}

async function usage(caller: Caller): Promise<Json> {
  const { status, json, text } = await caller.get('/usage');
  assert.equal(status, 200, text);
  return json;
}

apiScenarios('usage', {
  'it has the documented fields, with the calendar month in UTC': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer('pro');
      assert.deepEqual(await usage(customer), {
        tier: 'pro',
        period: { since: '2026-01-01T00:00:00.000Z', until: '2026-02-01T00:00:00.000Z' },
        records: { used: 0, limit: TIERS.pro.records },
        versions: { used: 0, limit: 5 * TIERS.pro.records },
        namespaces: { used: 0 },
        api_keys: { used: 0 },
        webhooks: { used: 0, limit: TIERS.pro.webhooks },
        writes: null,
        metered: {
          since: '2026-01-01T00:00:00.000Z',
          until: new Date(world.now()).toISOString(),
          estimated: true,
          total_authenticated_queries: 0,
          by_namespace: [],
          tier: 'pro',
          tier_allowance: TIERS.pro.allowance,
        },
      });
      const { name } = await customer.namespace();
      await customer.record(`a.${name}.v1`);
      await customer.record(`b.${name}.v1`);
      await customer.key();
      await customer.webhook();
      const { records, namespaces, api_keys, webhooks } = await usage(customer);
      assert.deepEqual([records.used, namespaces.used, api_keys.used, webhooks.used], [2, 1, 1, 1]);
    }),

  'reads count in their month, most first, over nodes and hours': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const [one, two, idle] = [
        await customer.namespace('usage-b'),
        await customer.namespace('usage-a'),
        await customer.namespace(),
      ];
      const month = Date.UTC(2026, 0, 1);
      await count(world, one.id, month, 5);
      await count(world, one.id, month + 3 * HOUR, 2);
      await count(world, two.id, month + 744 * HOUR - HOUR, 9);
      for (const hour of [month - HOUR, month + 744 * HOUR]) await count(world, one.id, hour, 100);
      await count(world, 'unknown', month, 1000);
      const { metered } = await usage(customer);
      assert.equal(metered.total_authenticated_queries, 16);
      assert.deepEqual(metered.by_namespace, [
        { name: 'usage-a', count: 9 },
        { name: 'usage-b', count: 7 },
      ]);
      assert.ok(idle.name);
      world.advance(31 * 24 * HOUR);
      const later = await usage(await world.signIn(customer));
      assert.equal(later.period.since, '2026-02-01T00:00:00.000Z');
      assert.equal(later.metered.total_authenticated_queries, 100);
    }),

  'a deleted namespace still counts, without its name, also when the name is taken again': (store) =>
    inWorld(store, async (world) => {
      const [customer, other] = [await world.customer(), await world.customer()];
      const [gone, kept] = [await customer.namespace(), await customer.namespace()];
      const hour = Date.UTC(2026, 0, 1);
      await count(world, gone.id, hour, 7);
      await count(world, kept.id, hour, 2);
      assert.equal((await customer.del(`/namespaces/${gone.id}`)).status, 204);
      await deleteClosed({ store, clock: world.now, signal });
      await other.namespace(gone.name);
      const { metered } = await usage(customer);
      assert.equal(metered.total_authenticated_queries, 9);
      assert.deepEqual(metered.by_namespace, [{ name: kept.name, count: 2 }]);
      assert.equal((await usage(other)).metered.total_authenticated_queries, 0);
    }),

  'the reads of a large namespace stay in the total while its records are deleted': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id, name } = await customer.namespace();
      for (const page of [0, 1]) {
        const records = Array.from({ length: 500 }, (_, i) => ({
          key: `a${page}.b${i}.${name}.v1`,
          data: '',
        }));
        assert.equal((await customer.post('/records/bulk', { records })).status, 200);
      }
      await count(world, id, Date.UTC(2026, 0, 1), 7);
      const totals = async (): Promise<number[]> => {
        const { json } = await customer.get('/usage?by=day');
        return [json.metered.total_authenticated_queries, json.metered.by_day[0].count];
      };
      assert.deepEqual(await totals(), [7, 7]);
      assert.equal((await customer.del(`/namespaces/${id}`)).status, 204);
      assert.deepEqual(await totals(), [7, 7]);
      await deleteClosed({ store, clock: world.now, signal });
      assert.deepEqual(await totals(), [7, 7]);
    }),

  'a namespace that is deleted while it is read counts once (seed 1035690218)': async (store) => {
    let after = /^/;
    let whenSummed: (() => Promise<void>) | null = null;
    const wrap = (shared: Store): Store => ({
      ...shared,
      read: {
        ...shared.read,
        async execute(sql, values) {
          const result = await shared.read.execute<never>(sql, values);
          if (after.test(sql) && whenSummed !== null) {
            const run = whenSummed;
            whenSummed = null;
            await run();
          }
          return result;
        },
      },
    });
    await inWorld(
      store,
      async (world) => {
        const customer = await world.customer();
        const hour = Date.UTC(2026, 0, 1);
        for (const [path, statement] of [
          ['/usage', /from usage_hours/],
          ['/usage?by=day', /from usage_hours.*group by 1/],
        ] as const) {
          const gone = await customer.namespace();
          await count(world, gone.id, hour, 7);
          const before = (await usage(customer)).metered.total_authenticated_queries;
          after = statement;
          whenSummed = async () => {
            assert.equal((await customer.del(`/namespaces/${gone.id}`)).status, 204);
            await deleteClosed({ store, clock: world.now, signal });
          };
          const { metered } = (await customer.get(path)).json;
          assert.equal(metered.total_authenticated_queries, before);
          if (metered.by_day !== undefined) assert.equal(metered.by_day[0].count, before);
        }
      },
      { wrap },
    );
  },

  'by day each day of the month is there, and their sum is the total': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const [kept, gone] = [await customer.namespace(), await customer.namespace()];
      const month = Date.UTC(2026, 0, 1);
      const key = await customer.key({ operations: ['read'], namespaces: [kept.name] });
      world.advance(month + 20 * 24 * HOUR + HOUR - world.now());
      const caller = await world.signIn(customer);
      await count(world, kept.id, month - HOUR, 100);
      await count(world, kept.id, month, 1);
      await count(world, kept.id, month + 23 * HOUR, 2);
      await count(world, kept.id, month + 24 * HOUR, 4);
      await count(world, gone.id, month + 20 * 24 * HOUR, 8);
      const days = async (from: Caller): Promise<Json[]> => {
        const { status, json, text } = await from.get('/usage?by=day');
        assert.equal(status, 200, text);
        const { by_day: list, total_authenticated_queries: total } = json.metered;
        assert.equal(
          list.reduce((sum: number, one: Json) => sum + one.count, 0),
          total,
        );
        return list;
      };
      const all = await days(caller);
      assert.equal(all.length, 21);
      assert.deepEqual(
        [all[0], all[1], all[2]],
        [
          { date: '2026-01-01', count: 3 },
          { date: '2026-01-02', count: 4 },
          { date: '2026-01-03', count: 0 },
        ],
      );
      assert.deepEqual(all.at(-1), { date: '2026-01-21', count: 8 });
      await caller.del(`/namespaces/${gone.id}`);
      await deleteClosed({ store, clock: world.now, signal });
      assert.deepEqual(await days(caller), all);
      assert.deepEqual((await days(key)).at(-1), { date: '2026-01-21', count: 0 });
      assert.equal((await usage(caller)).metered.by_day, undefined);
      assertFailure(await caller.get('/usage?by=hour'), 400, 'validation_error', 'by is not day');
    }),

  'a key with an allowlist sees only what it reaches, and a key needs read': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const [one, two, gone] = [
        await customer.namespace(),
        await customer.namespace(),
        await customer.namespace(),
      ];
      const hour = Date.UTC(2026, 0, 1);
      for (const [i, { id, name }] of [one, two, gone].entries()) {
        await count(world, id, hour, i + 1);
        await customer.record(`a.${name}.v1`);
        await customer.webhook({ scopes: { namespaces: [name] } });
      }
      await customer.webhook();
      await customer.del(`/namespaces/${gone.id}`);
      await deleteClosed({ store, clock: world.now, signal });
      const key = await customer.key({ operations: ['read'], namespaces: [two.name] });
      const { records, namespaces, webhooks, metered } = await usage(key);
      assert.deepEqual([records.used, namespaces.used, webhooks.used], [1, 1, 1]);
      assert.equal(metered.total_authenticated_queries, 2);
      assert.deepEqual(metered.by_namespace, [{ name: two.name, count: 2 }]);
      assert.equal((await usage(customer)).metered.total_authenticated_queries, 6);
      const writer = await customer.key({ operations: ['write'] });
      assertFailure(await writer.get('/usage'), 403, 'authorization_error');
      assertFailure(await customer.get('/usage?x=1'), 400, 'validation_error', 'x is not a known parameter');
    }),

  'with billing it shows how much of the allowance is used, at each edge': (store) =>
    inWorld(
      store,
      async (world) => {
        const customer = await world.customer('free');
        const { id } = await customer.namespace();
        const { allowance } = TIERS.free;
        const hour = Date.UTC(2026, 0, 1);
        let used = 0;
        const at = async (to: number): Promise<Json> => {
          await count(world, id, hour, to - used);
          used = to;
          return (await usage(customer)).metered.soft_cap_state;
        };
        const near = allowance * 0.8;
        assert.deepEqual((await usage(customer)).metered.soft_cap_state, {
          state: 'within',
          allowance,
          used: 0,
          percent: 0,
        });
        assert.deepEqual(await at(near - 1), { state: 'within', allowance, used: near - 1, percent: 79.9 });
        assert.deepEqual(await at(near), { state: 'near', allowance, used: near, percent: 80 });
        assert.deepEqual(await at(allowance), { state: 'near', allowance, used: allowance, percent: 100 });
        const over = await at(allowance + 1);
        assert.deepEqual(over, { state: 'over', allowance, used: allowance + 1, percent: 100 });
        assert.deepEqual(await at(allowance * 3), { state: 'over', allowance, used, percent: 300 });
      },
      { billing: true },
    ),
});
