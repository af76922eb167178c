import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, keyOfAny, nameOf, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { createMemoryQueryLog } from '../../../test/support/feed/memory-query-log.ts';
import { createMemoryUsage } from '../../../test/support/feed/memory-usage.ts';
import type { TestDatabase } from '../../../test/support/store/fixtures.ts';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { query } from '../../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { LIMITS } from '../../base/limits.ts';
import { openStore } from '../../store/open.ts';
import { usageSink } from '../../store/usage.ts';
import { busUsageSink, startMeter } from '../nodes/meter.ts';
import { type UsageBatch, type UsageCount, UsageFormatError, type UsageSink } from './usage-sink.ts';

const HOUR = 3_600_000;

interface UsageWorld {
  /** Opens the same sums as another process would. */
  open(): Promise<UsageSink>;
  /** All sums, in any order. */
  sums(): Promise<readonly UsageCount[]>;
  close(): Promise<void>;
}

function batchOf(batch: string, counts: readonly UsageCount[], node = 'node1'): UsageBatch {
  return { node, batch, counts };
}

function countOf(namespaceId: string, hour: number, answers: number): UsageCount {
  return { namespaceId, hour: hour * HOUR, answers };
}

/** What every UsageSink must do. */
function usageSinkSuite(name: string, create: () => Promise<UsageWorld>, skip: string | null = null): void {
  describe(`usage sink: ${name}`, { skip: skip ?? false }, () => {
    const scenario = (title: string, run: (world: UsageWorld) => Promise<void>): void => {
      it(title, async () => {
        const world = await create();
        try {
          await run(world);
        } finally {
          await world.close();
        }
      });
    };
    const expectSums = async (world: UsageWorld, ...expected: readonly UsageCount[]): Promise<void> => {
      const text = (counts: readonly UsageCount[]): string[] =>
        counts.map(({ namespaceId, hour, answers }) => `${namespaceId} ${hour} ${answers}`).sort();
      assert.deepEqual(text(await world.sums()), text(expected));
    };

    scenario('sums are per namespace and hour, over batches and nodes', async (world) => {
      const sink = await world.open();
      await sink.add(batchOf('1', [countOf('a', 1, 2), countOf('a', 2, 3), countOf('b', 1, 4)]));
      await sink.add(batchOf('2', [countOf('a', 1, 10)]));
      await sink.add(batchOf('1', [countOf('b', 1, 100)], 'node2'));
      await expectSums(world, countOf('a', 1, 12), countOf('a', 2, 3), countOf('b', 1, 104));
    });

    scenario('a namespace and hour that come twice in a batch are added up', async (world) => {
      const sink = await world.open();
      await sink.add(batchOf('1', [countOf('a', 1, 2), countOf('b', 1, 1), countOf('a', 1, 3)]));
      await expectSums(world, countOf('a', 1, 5), countOf('b', 1, 1));
    });

    scenario('a batch that comes again counts once, also at once and to another process', async (world) => {
      const [one, other] = [await world.open(), await world.open()];
      const batch = batchOf('1', [countOf('a', 1, 2), countOf('b', 1, 3)]);
      await Promise.all([one, other, one, other].map((sink) => sink.add(batch)));
      await one.add(batch);
      await expectSums(world, ...batch.counts);
    });

    scenario('batches of many nodes at once lose nothing', async (world) => {
      const sinks = [await world.open(), await world.open()];
      const ids = ['a', 'b', 'c'];
      const adds = Array.from({ length: 20 }, (_, index) => {
        const ordered = index % 2 === 0 ? ids : ids.toReversed();
        const batch = batchOf(
          '1',
          ordered.map((id) => countOf(id, 1, 1)),
          `node${index}`,
        );
        return sinks[index % 2]!.add(batch);
      });
      await Promise.all(adds);
      await expectSums(world, ...ids.map((id) => countOf(id, 1, 20)));
    });

    scenario('the largest batch is added, and one count more adds nothing', async (world) => {
      const sink = await world.open();
      const counts = Array.from({ length: LIMITS.usageBatchCounts }, (_, index) =>
        countOf(`n${index}`, 1, 1),
      );
      const tooMany = batchOf('1', [...counts, countOf('more', 1, 1)]);
      await assert.rejects(sink.add(tooMany), UsageFormatError);
      await expectSums(world);
      // The refused batch did not use up its id.
      await sink.add(batchOf('1', counts));
      await expectSums(world, ...counts);
    });

    scenario(
      'the largest count is added; out of bounds, the field is named and nothing added',
      async (world) => {
        const sink = await world.open();
        const good = countOf('a', 1, LIMITS.usageAnswersMax);
        const bad: readonly [string, UsageBatch][] = [
          ['node', batchOf('1', [good], '')],
          ['batch', batchOf('x'.repeat(65), [good])],
          ['counts', batchOf('1', [])],
          ['namespaceId', batchOf('1', [good, countOf('a b', 1, 1)])],
          ['hour', batchOf('1', [good, countOf('b', 1.5, 1)])],
          ['hour', batchOf('1', [good, countOf('b', -1, 1)])],
          ['answers', batchOf('1', [good, countOf('b', 1, 0)])],
          ['answers', batchOf('1', [good, countOf('b', 1, 0.5)])],
          ['answers', batchOf('1', [countOf('b', 1, LIMITS.usageAnswersMax + 1)])],
          ['answers', batchOf('1', [good, countOf('a', 1, 1)])],
        ];
        for (const [field, batch] of bad) {
          await assert.rejects(
            sink.add(batch),
            (error) => error instanceof UsageFormatError && error.field === field,
            field,
          );
        }
        await expectSums(world);
        await sink.add(batchOf('1', [good]));
        await expectSums(world, good);
      },
    );
  });
}

usageSinkSuite('memory', async () => {
  const usage = createMemoryUsage();
  return { open: async () => usage, sums: async () => usage.sums(), async close() {} };
});

usageSinkSuite('over the bus', async () => {
  const usage = createMemoryUsage();
  const bus = createMemoryBroker();
  startMeter({
    // Two hours after the counts of the suite.
    end: controlEnd(bus.connect(), { verifierOf: keyOfAny, clock: () => 4 * HOUR }),
    usage,
    queryLog: createMemoryQueryLog(),
    existing: async (ids) => new Set(ids),
  });
  return {
    open: async () => ({
      add: (batch) => busUsageSink(nodeEnd(bus.connect(), nameOf(batch.node))).add(batch),
    }),
    sums: async () => usage.sums(),
    async close() {},
  };
});

async function storeUsage(database: TestDatabase): Promise<UsageWorld> {
  const first = await database.open();
  const stores = [first];
  return {
    async open() {
      const store = await database.open();
      stores.push(store);
      return usageSink(store, Date.now);
    },
    sums: () => query(first.read, 'select namespace_id as "namespaceId", hour, answers from usage_hours'),
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await database.drop();
    },
  };
}

usageSinkSuite('SQLite', async () => storeUsage(await sqliteDatabase()));

usageSinkSuite(
  'PostgreSQL',
  async () => {
    const database = await postgresDatabase();
    const { url } = database;
    const open = (clock = Date.now) => openStore({ dataDir: '', databaseUrl: url, clock });
    return storeUsage({ open, drop: () => database.drop() });
  },
  postgresMissing(),
);
