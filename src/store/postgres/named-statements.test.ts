import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { queryLogRow } from '../../../test/support/feed/ports/query-log-suite.ts';
import { settle } from '../../../test/support/store/fixtures.ts';
import { type PostgresDatabase, postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { query } from '../../../test/support/store/rows.ts';
import { watched } from '../../../test/support/store/statement-plans.ts';
import { openStore } from '../open.ts';
import { queryLogSink } from '../query-log/add-rows.ts';
import { countRows } from '../query-log/counts.ts';
import { listSeries, readPage } from '../query-log/page.ts';
import type { Db, Store } from '../store.ts';
import { newPool, poolReader } from './driver.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const ROWS = 30;

/** PostgreSQL plans a named statement for any parameters only after it ran five times. */
const RUNS = 7;

interface World {
  readonly store: Store;
  readonly database: PostgresDatabase;
  /** Reads a page and its total as `GET /query_logs` does. */
  readonly page: (db?: Db) => Promise<{ readonly total: number; readonly ids: readonly number[] }>;
}

async function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  const database = await postgresDatabase();
  const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: () => NOW });
  try {
    const { namespaceId, customerId } = await settle(store);
    const rows = Array.from({ length: ROWS }, (_, i) => queryLogRow(namespaceId, NOW - i * 400_000));
    await queryLogSink(store, () => NOW).add({ node: 'n', batch: '1', rows, dropped: [] });
    const interval = { since: NOW - 86_400_000, until: NOW + 1 };
    const page: World['page'] = async (db = store.read) => {
      const series = (await listSeries(db, customerId)).map(({ id }) => id);
      const total = await countRows(db, series, interval);
      const found = await readPage(db, series, { interval, before: null, limit: 10, now: NOW });
      return { total, ids: found.map(({ id }) => id) };
    };
    await run({ store, database, page });
  } finally {
    await store.close();
    await database.drop();
  }
}

/** A reader that has one connection. */
async function onOneConnection(database: PostgresDatabase, run: (db: Db) => Promise<void>): Promise<void> {
  const pool = newPool(database.url, 1);
  try {
    await run(poolReader(pool));
  } finally {
    await pool.end();
  }
}

describe('named statements on PostgreSQL', { skip: postgresMissing() ?? false }, () => {
  it('a page of the query log asks four, which a connection keeps', () =>
    inWorld(async ({ database, page }) => {
      await onOneConnection(database, async (db) => {
        let asked = 0;
        const counting = watched(db, () => asked++);
        for (let turn = 0; turn < RUNS; turn++) await page(counting);
        assert.equal(asked, 4 * RUNS);
        const rows = await query<{ runs: number }>(
          db,
          "select generic_plans + custom_plans as runs from pg_prepared_statements where name like 'uqrp_%'",
        );
        assert.deepEqual(
          rows.map(({ runs }) => runs),
          new Array(4).fill(RUNS),
        );
      });
    }));

  it('go on after a migration that adds columns to their tables', () =>
    inWorld(async ({ database, page }) => {
      await onOneConnection(database, async (db) => {
        const first = await page(db);
        assert.deepEqual([first.total, first.ids.length], [ROWS, 10]);
        for (let turn = 0; turn < RUNS; turn++) assert.deepEqual(await page(db), first);
        for (const table of ['namespaces', 'query_log_series', 'query_log_blocks', 'query_log_counts']) {
          await database.query(`alter table ${table} add column later bigint`);
        }
        assert.deepEqual(await page(db), first);
      });
    }));

  it('go on when the database ends their connection', () =>
    inWorld(async ({ store, database, page }) => {
      const first = await page();
      const lost = store.write(async (db) => {
        await page(db);
        await database.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'uqrp'",
        );
        await page(db);
      });
      await assert.rejects(lost);
      // The pool may not have heard yet that its other connections ended: each fails once at most.
      let after = await page().catch(() => null);
      for (let tries = 0; after === null && tries < 20; tries++) after = await page().catch(() => null);
      assert.deepEqual(after, first);
    }));

  it('no connection compiles statements or starts processes for them', () =>
    inWorld(async ({ store }) => {
      const settings = (db: Db) =>
        query<Record<string, string>>(
          db,
          "select current_setting('jit') as jit, current_setting('max_parallel_workers_per_gather') as workers",
        );
      const expected = { jit: 'off', workers: '0' };
      assert.deepEqual({ ...(await settings(store.read))[0] }, expected);
      assert.deepEqual({ ...(await store.write((tx) => settings(tx)))[0] }, expected);
    }));
});
