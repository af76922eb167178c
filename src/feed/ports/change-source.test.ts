import { createFakeSource } from '../../../test/support/feed/fake-source.ts';
import { changeSourceSuite } from '../../../test/support/feed/source-suite.ts';
import { storeSource } from '../../../test/support/feed/store-source.ts';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { openStore } from '../../store/open.ts';

changeSourceSuite('memory', async (clock) => {
  const source = createFakeSource(2, clock);
  return {
    source,
    write: async (...bodies) => source.write(...bodies),
    async renew(...bodies) {
      source.epoch = 'second';
      source.write(...bodies);
      return source.epoch;
    },
    prune: async (seq) => source.prune(seq),
    async cut() {
      source.before = () => {
        throw new Error('connection refused');
      };
    },
    async close() {},
  };
});

changeSourceSuite('SQLite', async (clock) => storeSource(await sqliteDatabase(), clock));

changeSourceSuite(
  'PostgreSQL',
  async (clock) => {
    const database = await postgresDatabase();
    const { url } = database;
    const open = (time = clock) => openStore({ dataDir: '', databaseUrl: url, clock: time });
    return storeSource({ open, drop: () => database.drop() }, clock);
  },
  postgresMissing(),
);
