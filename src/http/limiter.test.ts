import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { findRows } from '../../test/support/store/rows.ts';
import type { Clock } from '../base/time.ts';
import { sharedLimiter } from '../control/shared-limiter.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { BUDGETS, type Limiter, memoryLimiter, unlimited } from './limiter.ts';

interface Opened {
  /** Two handles on one set of periods, as two processes have. */
  readonly handles: readonly [Limiter, Limiter];
  close(): Promise<void>;
}

/** What every limiter does. */
function limiterSuite(
  name: string,
  open: (clock: Clock) => Promise<Opened>,
  options: { skip?: string },
): void {
  describe(name, options, () => {
    const scenario = (
      title: string,
      run: (opened: Opened, advance: (ms: number) => void) => Promise<void>,
    ): void => {
      void test(title, async () => {
        let time = 1_700_000_000_000;
        const opened = await open(() => time);
        try {
          await run(opened, (ms) => {
            time += ms;
          });
        } finally {
          await opened.close();
        }
      });
    };

    scenario(
      'admits up to the limit, then says how long to wait',
      async ({ handles: [limiter] }, advance) => {
        for (let i = 0; i < 100; i++) assert.equal(await limiter.take('unauthenticated', 'a'), 0);
        assert.equal(await limiter.take('unauthenticated', 'a'), 60);
        assert.equal(await limiter.take('unauthenticated', 'b'), 0);
        assert.equal(await limiter.take('authenticated', 'a'), 0);
        advance(59_999);
        assert.equal(await limiter.take('unauthenticated', 'a'), 1);
        advance(1);
        assert.equal(await limiter.take('unauthenticated', 'a'), 0);
      },
    );

    scenario(
      'tells what is used of each period, and counts nothing by that',
      async ({ handles: [one, other] }, advance) => {
        const used = async (limiter: Limiter): Promise<unknown> => limiter.used('writes', 'a');
        const none = [
          { used: 0, limit: 60, resets_in: 0 },
          { used: 0, limit: 600, resets_in: 0 },
        ];
        assert.deepEqual(await used(one), none);
        const start = 1_700_000_000_000;
        for (let i = 0; i < 60; i++) await one.take('writes', 'a');
        assert.equal(await one.take('writes', 'a'), 60);
        const full = [
          { used: 60, limit: 60, resets_in: 60 },
          { used: 60, limit: 600, resets_in: 3600 },
        ];
        assert.deepEqual([await used(one), await used(other)], [full, full]);
        assert.deepEqual(await one.used('writes', 'b'), none);
        for (let i = 0; i < 60; i++) await one.giveBack('writes', 'a', start);
        assert.deepEqual(await used(one), none);
        await one.take('writes', 'a');
        advance(60_000);
        assert.deepEqual(await used(other), [none[0], { used: 1, limit: 600, resets_in: 3540 }]);
        assert.equal(await unlimited.used('writes', 'a'), null);
      },
    );

    scenario(
      'takes a hit back from every period that had begun when it was counted',
      async ({ handles: [limiter] }, advance) => {
        const start = 1_700_000_000_000;
        for (let i = 0; i < 60; i++) assert.equal(await limiter.take('writes', 'a'), 0);
        assert.equal(await limiter.take('writes', 'a'), 60);
        await limiter.giveBack('writes', 'a', start);
        await limiter.giveBack('writes', 'never-seen', start);
        assert.equal(await limiter.take('writes', 'a'), 0);
        assert.equal(await limiter.take('writes', 'a'), 60);
        advance(60_000);
        for (let i = 0; i < 60; i++) assert.equal(await limiter.take('writes', 'a'), 0);
        // This minute's period does not hold a hit of the last minute.
        await limiter.giveBack('writes', 'a', start + 59_999);
        assert.equal(await limiter.take('writes', 'a'), 60);
      },
    );

    scenario('counts in both periods or in neither', async ({ handles: [limiter] }, advance) => {
      for (let minute = 0; minute < 10; minute++) {
        for (let i = 0; i < 60; i++) assert.equal(await limiter.take('writes', 'a'), 0);
        // Refused by the minute, and not counted by the hour; the tenth time the hour is full as well.
        const wait = minute < 9 ? 60 : 3060;
        for (let i = 0; i < 5; i++) assert.equal(await limiter.take('writes', 'a'), wait);
        advance(60_000);
      }
      // Refused by the hour: not counted by the minute.
      for (let i = 0; i < 5; i++) assert.equal(await limiter.take('writes', 'a'), 3000);
      advance(3_000_000);
      for (let i = 0; i < 60; i++) assert.equal(await limiter.take('writes', 'a'), 0);
      assert.equal(await limiter.take('writes', 'a'), 60);
    });

    scenario('a webhook has budgets of its own', async ({ handles: [limiter] }, advance) => {
      for (const [budget, limit, length] of [
        ['webhookSecrets', 5, 3600],
        ['webhookTests', 10, 60],
      ] as const) {
        for (let i = 0; i < limit; i++) assert.equal(await limiter.take(budget, 'a'), 0);
        assert.equal(await limiter.take(budget, 'a'), length);
        assert.equal(await limiter.take(budget, 'b'), 0);
        advance(length * 1000);
        assert.equal(await limiter.take(budget, 'a'), 0);
      }
    });

    // As many at once as the pools of two stores have connections: on a busy machine more would wait for one longer than a pool lets them
    // (part 3 of the review of the tests).
    scenario('200 hits of 20 clients at once, over two handles: exactly 60 pass', async ({ handles }) => {
      let passed = 0;
      const client = async (_: unknown, i: number): Promise<void> => {
        for (let hit = 0; hit < 10; hit++) {
          if ((await handles[i % 2 === 0 ? 0 : 1].take('writes', 'a')) === 0) passed++;
        }
      };
      await Promise.all(Array.from({ length: 20 }, client));
      assert.equal(passed, 60);
    });
  });
}

limiterSuite(
  'the limiter in memory',
  async (clock) => {
    const limiter = memoryLimiter(clock);
    return { handles: [limiter, limiter], close: async () => {} };
  },
  {},
);

const shared = (stores: readonly [Store, Store], clock: Clock): Opened['handles'] => [
  sharedLimiter(stores[0], clock),
  sharedLimiter(stores[1], clock),
];

limiterSuite(
  'the shared limiter on SQLite',
  async (clock) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-limits-'));
    const store = await openStore({ dataDir, databaseUrl: null, clock });
    return {
      handles: shared([store, store], clock),
      close: async () => {
        await store.close();
        rmSync(dataDir, { recursive: true, force: true });
      },
    };
  },
  {},
);

const missing = postgresMissing();
limiterSuite(
  'the shared limiter on PostgreSQL',
  async (clock) => {
    const database = await postgresDatabase();
    const options = { dataDir: '', databaseUrl: database.url, clock };
    const stores = [await openStore(options), await openStore(options)] as const;
    return {
      handles: shared(stores, clock),
      close: async () => {
        for (const store of stores) await store.close();
        await database.drop();
      },
    };
  },
  missing === null ? {} : { skip: missing },
);

test('the shared limiter forgets periods that are over', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-limits-'));
  let time = 1_700_000_000_000;
  const store = await openStore({ dataDir, databaseUrl: null, clock: () => time });
  const limiter = sharedLimiter(store, () => time);
  for (const key of ['a', 'b', 'c']) await limiter.take('writes', key);
  const rows = () => findRows(store.read, 'rate_windows', { columns: ['key'], order: 'key' });
  assert.equal((await rows()).length, 6);
  const left = async (key: string): Promise<string[]> => {
    await limiter.take('authenticated', key);
    return (await rows()).map((row) => row.key);
  };
  time += 60_000;
  assert.deepEqual(await left('d'), [
    'authenticated:60000:d',
    'writes:3600000:a',
    'writes:3600000:b',
    'writes:3600000:c',
  ]);
  time += 3_540_000;
  assert.deepEqual(await left('e'), ['authenticated:60000:e']);
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

test('memory is bounded: periods that are over leave first, then the oldest', () => {
  let time = 1_700_000_000_000;
  const limiter = memoryLimiter(() => time, 10);
  const fill = (key: string): void => {
    for (const { limit } of BUDGETS.unauthenticated) {
      for (let i = 0; i < limit; i++) limiter.take('unauthenticated', key);
    }
  };
  fill('over');
  time += 60_000;
  for (let i = 0; i < 9; i++) fill(`k${i}`);
  // The eleventh key replaces the one whose period is over.
  fill('k9');
  for (let i = 0; i < 10; i++) assert.equal(limiter.take('unauthenticated', `k${i}`), 60);
  // The next key replaces the oldest, which then starts again at 0.
  fill('k10');
  assert.equal(limiter.take('unauthenticated', 'k9'), 60);
  assert.equal(limiter.take('unauthenticated', 'k0'), 0);
});

test('a flood of keys that are used once resets no key that is at its limit', () => {
  const limiter = memoryLimiter(() => 1_700_000_000_000, 100);
  const { limit } = BUDGETS.triesWithoutFlow[0];
  for (let i = 0; i < limit; i++) assert.equal(limiter.take('triesWithoutFlow', 'attacked'), 0);
  for (let i = 0; i < 1000; i++) assert.equal(limiter.take('triesWithoutFlow', `flood ${i}`), 0);
  assert.equal(limiter.take('triesWithoutFlow', 'attacked'), 3600);
  // Nothing but keys at their limit: the oldest is deleted all the same.
  for (let i = 0; i < 100; i++) for (let n = 0; n < limit; n++) limiter.take('triesWithoutFlow', `full ${i}`);
  assert.equal(limiter.take('triesWithoutFlow', 'attacked'), 0);
});

test('a limiter that is off admits everything', () => {
  for (let i = 0; i < 5000; i++) assert.equal(unlimited.take('writes', 'a'), 0);
});
