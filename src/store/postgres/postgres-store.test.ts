import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { putRecord, settle } from '../../../test/support/store/fixtures.ts';
import { type PostgresDatabase, postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { findRows, query, updateRows } from '../../../test/support/store/rows.ts';
import { openStore } from '../open.ts';
import type { Store } from '../store.ts';

const open = (database: PostgresDatabase, clock = Date.now): Promise<Store> =>
  openStore({ dataDir: '', databaseUrl: database.url, clock });

describe('PostgreSQL engine', { skip: postgresMissing() ?? false }, () => {
  const scenario = (
    title: string,
    run: (store: Store, database: PostgresDatabase) => Promise<void>,
  ): void => {
    it(title, async () => {
      const database = await postgresDatabase();
      const store = await open(database);
      try {
        await run(store, database);
      } finally {
        await store.close();
        await database.drop();
      }
    });
  };
  const cut = (database: PostgresDatabase): Promise<unknown> =>
    database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
  const untilWorks = async <T>(action: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await action();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  };

  scenario(
    'a unit whose deadlock also cost its connection runs again: the first error is the cause (C09)',
    async (store) => {
      const home = await settle(store);
      let runs = 0;
      await store.write(async (tx) => {
        runs++;
        await putRecord(tx, home, 'again');
        if (runs > 1) return;
        // From here on the rollback fails, too.
        await query(tx, 'select pg_terminate_backend(pg_backend_pid())').catch(() => {});
        throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
      });
      assert.equal(runs, 2);
    },
  );

  scenario('a connection lost inside a unit rejects it and leaves nothing', async (store, database) => {
    const home = await settle(store);
    const unit = store.write(async (tx) => {
      await putRecord(tx, home, 'lost');
      await cut(database);
      await query(tx, 'select 1');
    });
    await assert.rejects(unit, /connection/i);
    assert.equal(await untilWorks(() => store.write((tx) => putRecord(tx, home, 'next'))), 1);
    assert.partialDeepStrictEqual(await untilWorks(() => store.changes.bounds()), { oldest: 1, head: 1 });
  });

  scenario(
    'reads, writes and wake-ups come back by themselves after every connection was cut',
    async (store, database) => {
      const home = await settle(store);
      const other = await open(database);
      let wakes = 0;
      const stop = other.changes.onChange(() => wakes++);
      for (let index = 0; wakes === 0; index++) await store.write((tx) => putRecord(tx, home, `a${index}`));
      await cut(database);
      wakes = 0;
      for (let index = 0; wakes === 0; index++) {
        await untilWorks(() => store.write((tx) => putRecord(tx, home, `b${index}`)));
      }
      stop();
      const { head } = await untilWorks(() => other.changes.bounds());
      assert.ok(head > 1);
      await other.close();
    },
  );

  scenario('units that meet in a deadlock are run again and both succeed', async (store) => {
    const first = await settle(store, 'one');
    const second = await settle(store, 'two');
    const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const touch = async (order: readonly string[], mine: 0 | 1): Promise<void> => {
      await store.write(async (tx) => {
        for (const [index, id] of order.entries()) {
          if (index === 1) await held[mine === 0 ? 1 : 0].promise;
          await updateRows(tx, 'customers', { tier: 'pro' }, { id });
          held[mine].resolve();
        }
      });
    };
    await Promise.all([
      touch([first.customerId, second.customerId], 0),
      touch([second.customerId, first.customerId], 1),
    ]);
    const rows = await findRows(store.read, 'customers', { columns: ['tier'] });
    assert.deepEqual(
      rows.map((row) => row.tier),
      ['pro', 'pro'],
    );
  });

  it('a migration that meets a server of an earlier release in a deadlock is run again', async () => {
    const database = await postgresDatabase();
    try {
      // A sequence counts on when its transaction is rolled back.
      await database.query('create sequence tries');
      await database.query(`create function meet() returns event_trigger language plpgsql as $$ begin
        if nextval('tries') = 1 then raise exception 'deadlock detected' using errcode = '40P01'; end if; end $$`);
      await database.query(`create event trigger meets on ddl_command_start when tag in ('ALTER TABLE')
        execute function meet()`);
      const store = await open(database);
      await settle(store);
      await store.close();
    } finally {
      await database.drop();
    }
  });

  scenario('a store that cannot be reached does not open', async (_store, database) => {
    const nowhere = { ...database, url: database.url.replace(/test_\d+/, 'no_such_database') };
    await assert.rejects(open(nowhere), /does not exist/);
  });

  scenario('a newer database is not touched by an older release', async (_store, database) => {
    await database.query(
      `insert into kysely_migration (name, timestamp) values ('9999-later', '2999-01-01')`,
    );
    await assert.rejects(open(database), /9999-later/);
  });
});
