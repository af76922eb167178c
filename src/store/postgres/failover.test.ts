import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, type QueryResultRow } from 'pg';
import { putRecord, settle } from '../../../test/support/store/fixtures.ts';
import { type PostgresDatabase, postgresDatabase, run } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { isSuccessor } from '../../base/ids.ts';
import { openStore } from '../open.ts';
import type { Store } from '../store.ts';
import { noticeMove } from './failover.ts';

const NOW = Date.UTC(2026, 0, 2);

/** As a promoted standby finds it: the row is of the server from before. */
const ELSEWHERE = "update service_facts set value = '1:00000001:1' where name = 'server'";

describe('a PostgreSQL that went on elsewhere', { skip: postgresMissing() ?? false }, () => {
  const scenario = (
    title: string,
    test: (open: () => Promise<Store>, database: PostgresDatabase) => Promise<void>,
  ): void => {
    it(title, async () => {
      const database = await postgresDatabase();
      const stores: Store[] = [];
      const open = async (): Promise<Store> => {
        const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: () => NOW });
        stores.push(store);
        return store;
      };
      try {
        await test(open, database);
      } finally {
        for (const store of stores) await store.close();
        await database.drop();
      }
    });
  };
  const epochOf = async (store: Store): Promise<string> => (await store.changes.bounds()).epoch;
  const fact = async (database: PostgresDatabase, name: string): Promise<string | undefined> => {
    const rows = await database.query(`select value from service_facts where name = '${name}'`);
    return (rows as { value: string }[])[0]?.value;
  };
  /** So that the next statement comes over a new connection. */
  const cut = (database: PostgresDatabase): Promise<unknown> =>
    database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
  async function untilWorks<T>(action: () => Promise<T>): Promise<T> {
    for (;;) {
      const found = await action().catch(() => null);
      if (found !== null) return found;
    }
  }

  scenario(
    'knows its place from the first start on, and keeps its epoch while it stays there',
    async (open, database) => {
      const store = await open();
      const epoch = await epochOf(store);
      assert.match((await fact(database, 'server')) ?? '', /^\d+:00000001:\d+$/);
      await cut(database);
      assert.equal(await untilWorks(() => epochOf(store)), epoch);
      assert.equal(await epochOf(await open()), epoch);
      assert.equal(await fact(database, 'epoch_seq'), undefined);
    },
  );

  scenario(
    'gets a later epoch before the first statement, read or write, of a process that runs',
    async (open, database) => {
      const store = await open();
      const home = await settle(store);
      await store.write((tx) => putRecord(tx, home, 'before'));
      const epoch = await epochOf(store);
      const { head } = await store.changes.bounds();
      for (const first of ['read', 'write'] as const) {
        const before = await epochOf(store);
        await database.query(ELSEWHERE);
        await cut(database);
        if (first === 'write') await untilWorks(() => store.write((tx) => putRecord(tx, home, 'after')));
        const after = await untilWorks(() => epochOf(store));
        assert.ok(isSuccessor(after, before), first);
        assert.notEqual(await fact(database, 'server'), '1:00000001:1');
        assert.equal(
          Number(await fact(database, 'epoch_seq')),
          head,
          'the end of the log before the first write',
        );
      }
      assert.ok(isSuccessor(await epochOf(store), epoch));
    },
  );

  scenario('gets one epoch of all connections and processes that meet there', async (open, database) => {
    const stores = [await open(), await open()];
    const epoch = await epochOf(stores[0]!);
    await database.query(ELSEWHERE);
    await cut(database);
    const found = await Promise.all(
      Array.from({ length: 12 }, (_, i) => untilWorks(() => epochOf(stores[i % 2]!))),
    );
    assert.equal(new Set(found).size, 1);
    assert.equal(found[0], `${epoch}.${NOW}`);
  });

  scenario('keeps an epoch that an operator gives in that moment', async (open, database) => {
    const given = `${await epochOf(await open())}.9`;
    await database.query(ELSEWHERE);
    const client = new Client({ connectionString: database.url });
    await client.connect();
    let isKnown = false;
    try {
      await noticeMove(
        {
          async query<R extends QueryResultRow>(statement: string, values?: readonly unknown[]) {
            const found = await client.query<R>(statement, values?.slice());
            if (!isKnown && String(statement).includes("name = 'epoch'")) {
              isKnown = true;
              await database.query(`update service_facts set value = '${given}' where name = 'epoch'`);
            }
            return found;
          },
        } as Parameters<typeof noticeMove>[0],
        () => NOW,
      );
    } finally {
      await client.end();
    }
    assert.ok(isKnown);
    assert.equal(await fact(database, 'epoch'), given);
    assert.notEqual(await fact(database, 'server'), '1:00000001:1');
  });

  scenario('gives no number of an event again', async (open, database) => {
    const store = await open();
    const { customerId } = await settle(store);
    await database.query(`insert into event_counters (customer_id, seq) values ('${customerId}', 41)`);
    await database.query(ELSEWHERE);
    await cut(database);
    await untilWorks(() => epochOf(store));
    const rows = await database.query('select seq from event_counters');
    assert.deepEqual(rows, [{ seq: String(NOW * 1_000) }]);
    // Of a customer who had no event before.
    assert.equal(await fact(database, 'events_from'), String(NOW * 1_000));
  });

  scenario('is not used while it is a standby: its sessions outlive the promotion', async (open) => {
    const epoch = await epochOf(await open());
    const standby = { query: async <R>() => ({ rows: [{ standby: true, server: null } as R] }) };
    await assert.rejects(
      noticeMove(standby, () => NOW),
      { code: '57P03' },
    );
    assert.equal(await epochOf(await open()), epoch);
  });

  scenario('that does not tell its place is used as before', async (open, database) => {
    const epoch = await epochOf(await open());
    await database.query(ELSEWHERE);
    for (const code of ['0A000', '42501', '42883', '55000']) {
      let asked = 0;
      const other = {
        async query(): Promise<never> {
          asked++;
          throw Object.assign(new Error('no such function'), { code });
        },
      };
      await noticeMove(other, () => NOW);
      assert.equal(asked, 1);
    }
    const rows = await run(database.url, "select value from service_facts where name = 'epoch'");
    assert.deepEqual(rows, [{ value: epoch }]);
  });
});
