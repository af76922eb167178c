import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addRows, REFUSED } from '../../../test/support/control/query-log/log-rows.ts';
import { makeGate } from '../../../test/support/dns/fakes.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  type Json,
  openWorld,
  type World,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { loggedLabel } from '../../feed/ports/query-log.ts';
import type { Store } from '../../store/store.ts';
import { pruneTelemetry } from '../../store/upkeep.ts';
import { COUNT_WINDOWS, parseCounts } from './steps.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
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

async function counts(caller: Caller, query = ''): Promise<Json> {
  const { status, json, text } = await caller.get(`/query_logs/counts${query}`);
  assert.equal(status, 200, text);
  return json;
}

const keys = ({ groups }: Json): unknown[] => groups.map(({ key, total }: Json) => [key, total]);

/** Goes to a time within an hour, so that what is expected does not depend on the start of the world. */
function toMinute(world: World, minute: number): void {
  world.advance(2 * HOUR - (world.now() % HOUR) + minute * MINUTE);
}

/** Steps of all windows. */
const STEP_MS = { '10m': 10 * MINUTE, '1h': HOUR, '6h': 6 * HOUR, '1d': DAY } as const;

describe('counts of queries', () => {
  it('have whole steps, at most as many as the limit says, and one window has as many', () => {
    const points = Object.values(COUNT_WINDOWS).flatMap(({ ms, steps }) =>
      steps.map((step) => ms / STEP_MS[step]),
    );
    assert.ok(points.every((count) => Number.isInteger(count)));
    assert.equal(Math.max(...points), LIMITS.queryLogPoints);
  });

  it('take a step of their window alone', () => {
    assert.equal(parseCounts({ window: '7d' }).step, '6h');
    for (const [query, name] of [
      [{ window: '24h', step: '6h' }, 'step is not one of 1h, 10m'],
      [{ window: '7d', step: '10m' }, 'step is not one of 6h, 1h, 1d'],
      [{ window: '1h' }, 'window is not one of 24h, 7d, 30d'],
      [{ group: 'token' }, 'group is not one of status, namespace, resource, transport, node'],
      [{ group: 'node', step: '10m' }, 'step is for groups of status or namespace'],
      [{ group: 'node', status: 'hit' }, 'status is for groups of status or namespace'],
      [{ window: ['24h', '7d'] }, 'window is given more than once'],
      [{ since: '2026-01-01' }, 'since is not a known parameter'],
    ] as const) {
      assert.throws(
        () => parseCounts(query),
        (error) => String((error as Error).message).includes(name) || JSON.stringify(error).includes(name),
        name,
      );
    }
  });
});

apiScenarios('counts of queries', {
  'steps are whole, without a gap, and hold each query once; every status is there': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id } = await customer.namespace();
      toMinute(world, 34);
      const caller = await world.signIn(customer);
      const empty = await counts(caller);
      assert.deepEqual(
        empty.groups.map(({ key }: Json) => key),
        ['hit', 'miss', 'expired', 'error', 'refused'],
      );
      const hour = world.now() - 34 * MINUTE;
      assert.deepEqual(
        [empty.since, empty.until, empty.step_seconds, empty.total, empty.dropped],
        [new Date(hour - 23 * HOUR).toISOString(), new Date(world.now()).toISOString(), 3600, 0, 0],
      );
      await addRows(world, id, [
        { ago: 0 },
        { ago: 34 * MINUTE },
        { ago: 34 * MINUTE + 1 },
        { ago: 34 * MINUTE + 23 * HOUR, ...REFUSED },
      ]);
      const { groups, total } = await counts(caller);
      const [hit, , , , refused] = groups.map((group: Json) => group.counts);
      assert.equal(total, 4);
      assert.deepEqual([hit.length, hit.at(-1), hit.at(-2), refused[0]], [24, 2, 1, 1]);
      // The hour that runs is in no trend: it would be compared with a whole one.
      assert.deepEqual(groups[0].trend, { total: 1, before: 0 });
      const fine = await counts(caller, '?step=10m');
      assert.deepEqual(
        [fine.step_seconds, fine.groups[0].counts.length, fine.groups[0].counts.slice(-5)],
        [600, 144, [1, 1, 0, 0, 1]],
      );
      for (const query of ['?window=7d', '?window=7d&step=1h', '?window=30d', '?window=30d&step=6h']) {
        const other = await counts(caller, query);
        assert.equal(other.total, 4, query);
        assert.equal(Date.parse(other.since) % (other.step_seconds * 1000), 0, query);
        const end = Date.parse(other.since) + other.groups[0].counts.length * other.step_seconds * 1000;
        assert.ok(end > world.now() && end - world.now() <= other.step_seconds * 1000, query);
      }
    }),

  'the time before is compared by full hours, and of 30 days there is none': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id } = await customer.namespace();
      toMinute(world, 10);
      const rows = (count: number) => Array.from({ length: count }, () => ({ ago: 20 * MINUTE }));
      await addRows(world, id, rows(3));
      world.advance(DAY);
      await pruneTelemetry(store, world.now(), signal);
      await addRows(world, id, rows(5));
      const caller = await world.signIn(customer);
      const [day] = (await counts(caller)).groups;
      assert.deepEqual([day.total, day.trend], [5, { total: 5, before: 3 }]);
      const [week] = (await counts(caller, '?window=7d')).groups;
      assert.deepEqual([week.total, week.trend], [8, { total: 8, before: 0 }]);
      assert.equal((await counts(caller, '?window=30d')).groups[0].trend, null);
    }),

  'customers see own queries alone, and a key those of its allowlist': (store) =>
    inWorld(store, async (world) => {
      const [customer, other] = [await world.customer(), await world.customer()];
      const [one, two, foreign] = [
        await customer.namespace(),
        await customer.namespace(),
        await other.namespace(),
      ];
      await addRows(world, one.id, [{ ago: 0 }]);
      await addRows(world, two.id, [{ ago: 0 }, { ago: 0, transport: 'dot' }]);
      await addRows(world, foreign.id, [{ ago: 0, resource: loggedLabel('secret') }]);
      assert.deepEqual(keys(await counts(customer, '?group=namespace')), [
        [two.name, 2],
        [one.name, 1],
      ]);
      assert.deepEqual(keys(await counts(customer, '?group=resource')), [['temp', 3]]);
      assert.deepEqual(keys(await counts(customer, '?group=transport')), [
        ['udp', 2],
        ['dot', 1],
      ]);
      assert.equal((await counts(customer, '?group=node')).total, 3);
      const key = await customer.key({ operations: ['read'], namespaces: [two.name] });
      assert.deepEqual(keys(await counts(key, '?group=namespace')), [[two.name, 2]]);
      assert.equal((await counts(key, '?group=resource')).total, 2);
      assert.equal((await counts(key, `?namespace=${one.name}`)).total, 0);
      for (const query of [`?namespace=${foreign.name}`, `?namespace=${foreign.name}&group=resource`]) {
        assert.equal((await counts(customer, query)).total, 0);
      }
      const writer = await customer.key({ operations: ['write'] });
      assertFailure(await writer.get('/query_logs/counts'), 403, 'authorization_error');
      assertFailure(await world.caller(null).get('/query_logs/counts'), 401, 'authentication_error');
    }),

  'filters narrow, and refused queries have no resource': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const [one, two] = [await customer.namespace(), await customer.namespace()];
      await addRows(world, one.id, [{ ago: 0 }, { ago: 0, ...REFUSED }]);
      await addRows(world, two.id, [{ ago: 0, ...REFUSED }]);
      assert.deepEqual(keys(await counts(customer, '?status=refused')), [['refused', 2]]);
      assert.deepEqual(keys(await counts(customer, `?status=refused&namespace=${one.name}`)), [
        ['refused', 1],
      ]);
      assert.deepEqual(keys(await counts(customer, `?group=namespace&status=hit`)), [[one.name, 1]]);
      assert.deepEqual(keys(await counts(customer, '?group=resource')), [['temp', 1]]);
    }),

  'the groups with most queries are shown, and the rest together': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id } = await customer.namespace();
      const names = Array.from({ length: LIMITS.queryLogGroups + 2 }, (_, i) => `r${i}`);
      const rows = (list: readonly string[]) =>
        list.flatMap((name, i) =>
          Array.from({ length: i + 1 }, () => ({ ago: 0, resource: loggedLabel(name) })),
        );
      await addRows(world, id, rows(names.slice(0, LIMITS.queryLogGroups)));
      const all = await counts(customer, '?group=resource');
      assert.deepEqual([all.groups.length, all.groups.at(-1).key], [LIMITS.queryLogGroups, 'r0']);
      await addRows(
        world,
        id,
        rows(names).filter(({ resource }) => Number(resource?.slice(1)) >= LIMITS.queryLogGroups),
      );
      const { groups, total } = await counts(customer, '?group=resource');
      assert.equal(groups.length, LIMITS.queryLogGroups + 1);
      assert.deepEqual([groups[0].key, groups[0].total], ['r11', 12]);
      assert.deepEqual([groups.at(-1).key, groups.at(-1).total], [null, 1 + 2]);
      assert.equal(total, (12 * 13) / 2);
    }),

  'reads of counts take turns by person: with very many under way another one comes soon, and who has most gives way':
    async (store) => {
      const gate = makeGate();
      const world = await openWorld(store, {
        wrap: (shared) => ({
          ...shared,
          read: {
            ...shared.read,
            async execute<R>(sql: string, values: readonly unknown[]) {
              if (sql.includes('query_log_splits')) await gate.opened;
              return shared.read.execute<R>(sql, values);
            },
          },
        }),
      });
      const [many, one] = [await world.customer(), await world.customer()];
      const ended: string[] = [];
      const ask = async (caller: Caller, name: string): Promise<void> => {
        const answer = await caller.get('/query_logs/counts');
        ended.push(`${name} ${answer.status}`);
        if (answer.status === 429)
          assertFailure(answer, 429, 'rate_limit_exceeded', 'Too many counts are being read');
      };
      const refused = async (times: number): Promise<void> => {
        while (ended.length < times) await new Promise(setImmediate);
        assert.deepEqual(
          ended,
          Array.from({ length: times }, () => 'many 429'),
        );
      };
      const { countReads, countReadsWaiting } = LIMITS;
      const all = Array.from({ length: countReads + countReadsWaiting + 3 }, () => ask(many, 'many'));
      await refused(3);
      all.push(ask(one, 'one'));
      await refused(4);
      gate.open();
      await Promise.all(all);
      const place = ended.slice(4).indexOf('one 200');
      // Not the third: answers of works that ended before hers may be sent after it.
      assert.ok(place >= 0 && place < countReadsWaiting / 4, `answer ${place}`);
      assert.equal(ended.filter((text) => text === 'many 200').length, countReads + countReadsWaiting - 1);
      await world.close();
    },

  'the overview has usage, statuses and resources of one window': (store) =>
    inWorld(store, async (world) => {
      const customer = await world.customer();
      const { id } = await customer.namespace();
      await addRows(world, id, [{ ago: 0 }, { ago: 0, ...REFUSED }]);
      const { json } = await customer.get('/overview?window=7d');
      assert.deepEqual(json.usage, (await customer.get('/usage')).json);
      assert.deepEqual(json.queries, await counts(customer, '?window=7d'));
      assert.deepEqual(json.resources, await counts(customer, '?window=7d&group=resource'));
      assertFailure(
        await customer.get('/overview?step=1h'),
        400,
        'validation_error',
        'step is not a known parameter',
      );
      assertFailure(await customer.get('/overview?window=1d'), 400, 'validation_error');
    }),
});
