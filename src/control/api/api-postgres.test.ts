import { describe, test } from 'node:test';
import { apiScenarios } from '../../../test/support/control/api/all.ts';
import { postgresDatabase, postgresMissing } from '../../../test/support/control/store/postgres.ts';
import { openStore } from '../store/open.ts';

const missing = postgresMissing();

if (missing === null) {
  // As in production: a database that sorts by a language, and budgets that processes share.
  apiScenarios('PostgreSQL', async () => {
    const database = await postgresDatabase('language');
    const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
    return {
      store,
      close: async () => {
        await store.close();
        await database.drop();
      },
    };
  });
} else describe('the API on PostgreSQL', () => test('is not tested', { skip: missing }, () => {}));
