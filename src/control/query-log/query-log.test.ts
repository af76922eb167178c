import assert from 'node:assert/strict';
import { addRows, REFUSED } from '../../../test/support/control/query-log/log-rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  type Json,
  openWorld,
  type World,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import type { Store } from '../../store/store.ts';
import { pruneTelemetry } from '../../store/upkeep.ts';
import { deleteClosed } from '../namespaces/deletion.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const { signal } = new AbortController();

async function inWorld(store: Store, run: (world: World) => Promise<void>): Promise<void> {
  const world = await openWorld(store);
  try {
    await run(world);
    assert.deepEqual(world.errors, []);
  } finally {
    await world.close();
  }
}

async function list(caller: Caller, query = ''): Promise<Json> {
  const { status, json, text } = await caller.get(`/query_logs${query}`);
  assert.equal(status, 200, text);
  return json;
}

/** Every row of a listing, page by page, which must have the total that each page says. */
async function readAll(caller: Caller, query: string): Promise<Json[]> {
  const rows: Json[] = [];
  let total: number | null = null;
  for (let cursor = ''; ; ) {
    const page = await list(caller, `?${query}${cursor}`);
    rows.push(...page.query_logs);
    total ??= page.meta.total;
    assert.equal(page.meta.total, total);
    assert.equal(page.meta.has_more, page.meta.next_cursor !== null);
    if (page.meta.next_cursor === null) break;
    cursor = `&cursor=${page.meta.next_cursor}`;
  }
  assert.equal(rows.length, total);
  return rows;
}

apiScenarios('query log', {
  'a row has the documented fields and no others; an empty log has the whole meta': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id, name } = await customer.namespace();
      assert.deepEqual(await list(customer), {
        query_logs: [],
        meta: { total: 0, dropped: 0, total_window_hours: 24, limit: 50, next_cursor: null, has_more: false },
      });
      await addRows(world, id, [
        { ago: 1500, durationMs: 3, transport: 'dot' },
        { ago: 0, ...REFUSED, qtype: 65_280 },
      ]);
      const { query_logs: rows, meta } = await list(customer);
      assert.deepEqual(meta, {
        total: 2,
        dropped: 0,
        total_window_hours: 24,
        limit: 50,
        next_cursor: null,
        has_more: false,
      });
      const node = `node${world.now()}`;
      assert.deepEqual(
        rows.map(({ id: rowId, ...row }: Json) => {
          assert.match(rowId, /^[0-9]{1,16}$/);
          return row;
        }),
        [
          {
            timestamp: new Date(world.now()).toISOString(),
            namespace: name,
            resource: null,
            version: null,
            operation: 'get',
            qtype: 'TYPE65280',
            status: 'refused',
            rcode: 'REFUSED',
            transport: 'udp',
            node,
            duration_ms: 0,
          },
          {
            timestamp: new Date(world.now() - 1500).toISOString(),
            namespace: name,
            resource: 'temp',
            version: 'v1',
            operation: 'get',
            qtype: 'TXT',
            status: 'hit',
            rcode: 'NOERROR',
            transport: 'dot',
            node,
            duration_ms: 3,
          },
        ],
      );
    }),

  'customers see own rows alone, a key those of its allowlist, and needs read': (store) =>
    inWorld(store, async (world) => {
      const [customer, other] = [await world.customer(), await world.customer()];
      const [one, two, foreign] = [
        await customer.namespace(),
        await customer.namespace(),
        await other.namespace(),
      ];
      for (const [i, { id }] of [one, two, foreign].entries()) {
        await addRows(
          world,
          id,
          Array.from({ length: i + 1 }, (_, ago) => ({ ago })),
        );
      }
      assert.equal((await list(customer)).meta.total, 3);
      assert.equal((await list(other)).meta.total, 3);
      assert.equal((await list(customer, `?namespace=${foreign.name}`)).meta.total, 0);
      const key = await customer.key({ operations: ['read'], namespaces: [two.name] });
      const seen = await readAll(key, 'limit=1');
      assert.deepEqual(
        seen.map(({ namespace }) => namespace),
        [two.name, two.name],
      );
      assert.equal((await list(key, `?namespace=${one.name}`)).meta.total, 0);
      const writer = await customer.key({ operations: ['write'] });
      assertFailure(await writer.get('/query_logs'), 403, 'authorization_error');
      assertFailure(await world.caller(null).get('/query_logs'), 401, 'authentication_error');
    }),

  'queries whose rows a node dropped are counted, for those who see their namespace': (store) =>
    inWorld(store, async (world) => {
      const [customer, other] = [await world.customer(), await world.customer()];
      const [one, two] = [await customer.namespace(), await customer.namespace()];
      const drop = (batch: string, rows: number): Promise<void> =>
        queryLogSink(store, world.now).add({
          node: `dropping${world.now()}`,
          batch,
          rows: [],
          dropped: [
            { namespaceId: one.id, rows },
            { namespaceId: two.id, rows: 1 },
          ],
        });
      await drop('1', 500);
      world.advance(HOUR);
      await drop('2', 40);
      const droppedOf = async (caller: Caller, query = ''): Promise<number> =>
        (await list(caller, query)).meta.dropped;
      assert.deepEqual(
        [
          await droppedOf(customer),
          await droppedOf(customer, `?namespace=${one.name}&status=hit`),
          await droppedOf(other),
        ],
        [542, 540, 0],
      );
      assert.equal((await list(customer)).meta.total, 0);
      const key = await customer.key({ operations: ['read'], namespaces: [two.name] });
      assert.deepEqual([await droppedOf(key), await droppedOf(key, `?namespace=${one.name}`)], [2, 0]);
      world.advance(24 * HOUR - 2 * MINUTE);
      const later = await world.signIn(customer);
      assert.equal(await droppedOf(later), 41);
      await pruneTelemetry(store, world.now() + (LIMITS.queryLogDays + 2) * 24 * HOUR, signal);
      assert.equal(await droppedOf(later), 0);
    }),

  'filters combine, and the total follows them within 24 hours': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const [one, two] = [await customer.namespace(), await customer.namespace()];
      const rows = Array.from({ length: 300 }, (_, i) => ({
        ago: i * 5 * MINUTE + 123,
        ...(i % 3 === 0 ? REFUSED : {}),
      }));
      await addRows(world, one.id, rows);
      await addRows(world, two.id, rows.slice(0, 50));
      const inWindow = rows.filter(({ ago }) => ago < 24 * HOUR);
      assert.equal((await list(customer)).meta.total, inWindow.length + 50);
      assert.equal(
        (await list(customer, `?namespace=${one.name.toUpperCase()}`)).meta.total,
        inWindow.length,
      );
      const at = (ago: number): string => new Date(world.now() - ago).toISOString();
      const [since, until] = [at(7 * HOUR + 123), at(2 * HOUR + 123)];
      const query = `namespace=${one.name}&status=refused&since=${since}&until=${until}&limit=7`;
      const found = await readAll(customer, query);
      const expected = inWindow.filter(
        ({ ago }, i) => i % 3 === 0 && ago <= 7 * HOUR + 123 && ago > 2 * HOUR + 123,
      );
      assert.deepEqual(
        found.map(({ timestamp }) => timestamp),
        expected.map(({ ago }) => at(ago)),
      );
      assert.ok(found.every(({ status }) => status === 'refused'));
    }),

  'pages go on by Link, while rows arrive and while old ones are deleted': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id, name } = await customer.namespace();
      const rows = Array.from({ length: 40 }, (_, i) => ({ ago: i * 30 * MINUTE }));
      await addRows(world, id, rows);
      const first = await customer.get(`/query_logs?limit=10&namespace=${name}`);
      const link = /^<https:\/\/api\.example\.test\/api\/v1(\/query_logs\?[^>]*)>; rel="next"$/.exec(
        String(first.headers.link),
      )![1]!;
      await addRows(world, id, [{ ago: 0 }, { ago: 1 }]);
      world.advance(10 * HOUR);
      const caller = await world.signIn(customer);
      await pruneTelemetry(store, world.now(), signal);
      const second = await caller.get(link);
      assert.equal(second.json.query_logs.length, 10);
      assert.equal(second.json.meta.total, 30);
      const third = await caller.get(
        `/query_logs?limit=10&namespace=${name}&cursor=${second.json.meta.next_cursor}`,
      );
      // Of the 40 first rows, 28 are of the last 24 hours.
      assert.equal(third.json.query_logs.length, 8);
      assert.equal(third.headers.link, undefined);
      const ids = [first, second, third].flatMap(({ json }) => json.query_logs.map((row: Json) => row.id));
      assert.equal(new Set(ids).size, 28);
    }),

  'a namespace that is being deleted has no rows from the moment it is closed': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const [gone, kept] = [await customer.namespace(), await customer.namespace()];
      for (const { id } of [gone, kept]) {
        const rows = Array.from({ length: 1100 }, (_, i) => ({ ago: i * 1000 }));
        await addRows(world, id, rows);
      }
      const page = await list(customer, '?limit=100');
      assert.equal(page.meta.total, 2200);
      assert.equal((await customer.del(`/namespaces/${gone.id}`)).status, 204);
      const next = await list(customer, `?limit=100&cursor=${page.meta.next_cursor}`);
      assert.equal(next.meta.total, 1100);
      assert.ok(next.query_logs.every(({ namespace }: Json) => namespace === kept.name));
      await addRows(world, gone.id, [{ ago: 0 }]);
      await deleteClosed({ store, clock: world.now, signal });
      assert.equal((await list(customer)).meta.total, 1100);
      assert.equal((await customer.namespace(gone.name)).name, gone.name);
      assert.equal((await list(customer, `?namespace=${gone.name}`)).meta.total, 0);
    }),

  'a parameter that is unknown, repeated or out of bounds is refused by name': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id } = await customer.namespace();
      await addRows(world, id, [{ ago: 0 }, { ago: 1 }]);
      const { next_cursor: cursor } = (await list(customer, '?limit=1')).meta;
      const table: readonly (readonly [string, string])[] = [
        ['colour=red', 'colour is not a known parameter'],
        ['limit=0', 'limit is not a number from 1 to 100'],
        ['limit=101', 'limit is not a number from 1 to 100'],
        ['limit=1&limit=2', 'limit is given more than once'],
        ['status=ok', 'status is not one of hit, miss, expired, error, refused'],
        ['namespace=a.b', 'namespace is not a namespace name'],
        ['since=yesterday', 'since is not an ISO 8601 date, or date and time with a zone'],
        ['until=2026-01-01T00:00', 'until is not an ISO 8601 date, or date and time with a zone'],
        ['since=2026-01-01&until=2026-01-01', 'since is not before until'],
        ['cursor=x', 'cursor is not a cursor of this listing'],
        [`cursor=${cursor}&status=hit`, 'cursor is not a cursor of this listing'],
      ];
      for (const [query, message] of table) {
        const answer = await customer.get(`/query_logs?${query}`);
        assertFailure(answer, 400, 'validation_error', message);
      }
      assert.equal((await list(customer, '?limit=100')).meta.limit, 100);
      assert.equal((await list(customer, `?limit=1&cursor=${cursor}`)).query_logs.length, 1);
      assert.equal((await list(customer, '?until=2020-01-01')).meta.total, 0);
    }),
});
