/** What an operator of the database may set, for all, for one database or for one role. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { putRecord, settle } from '../../../test/support/store/fixtures.ts';
import {
  encodedDatabase,
  type PostgresDatabase,
  postgresDatabase,
} from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { openStore } from '../open.ts';
import type { Store } from '../store.ts';

describe('settings of PostgreSQL', { skip: postgresMissing() ?? false }, () => {
  const scenario = (
    title: string,
    make: () => Promise<PostgresDatabase>,
    run: (open: () => Promise<Store>, set: (text: string) => Promise<unknown>) => Promise<void>,
  ): void => {
    it(title, async () => {
      const database = await make();
      const stores: Store[] = [];
      const open = async (): Promise<Store> => {
        const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
        stores.push(store);
        return store;
      };
      const [{ name }] = (await database.query('select current_database() as name')) as [{ name: string }];
      try {
        await run(open, (text) =>
          database.query(`begin read write; alter database ${name} set ${text}; commit`),
        );
      } finally {
        for (const store of stores) await store.close();
        await database.drop();
      }
    });
  };

  scenario(
    'octets are read as they were written, whatever bytea_output is',
    postgresDatabase,
    async (open, set) => {
      await set('bytea_output = escape');
      const store = await open();
      const home = await settle(store);
      const data = Buffer.from([...Array(256).keys()]);
      await store.write((tx) => putRecord(tx, home, 'a', { data }));
      const rows = await findRows(store.read, 'records', { columns: ['data'] });
      assert.deepEqual(
        rows.map((row) => Buffer.from(row.data)),
        [data],
      );
    },
  );

  scenario('a list may have nulls, whatever array_nulls is', postgresDatabase, async (open, set) => {
    await set('array_nulls = off');
    const store = await open();
    const { rows } = await store.read.execute<{ first: string | null }>('select ($1::text[])[1] as first', [
      [null, 'null'],
    ]);
    assert.deepEqual(rows, [{ first: null }]);
  });

  scenario(
    'a database that is set to read only is not up, until it is not',
    postgresDatabase,
    async (open, set) => {
      const store = await open();
      await set('default_transaction_read_only = on');
      await assert.rejects(store.ping(), /is set to read only and takes no writes/);
      await assert.rejects(store.ping(), /is set to read only and takes no writes/);
      await assert.rejects(open(), { code: '25006' });
      await set('default_transaction_read_only = off');
      await store.ping();
    },
  );

  for (const encoding of ['UTF8', 'SQL_ASCII'] as const) {
    scenario(
      `names of any language are kept in ${encoding}`,
      () => encodedDatabase(encoding),
      async (open) => {
        const store = await open();
        const { rows } = await store.read.execute<{ name: string }>('select $1::text as name', ['東京']);
        assert.deepEqual(rows, [{ name: '東京' }]);
      },
    );
  }

  scenario(
    'an encoding that lacks most names is refused at the start',
    () => encodedDatabase('LATIN1'),
    async (open) => {
      await assert.rejects(open(), { code: '22P05', message: /encoding LATIN1, and needs UTF8/ });
    },
  );
});
