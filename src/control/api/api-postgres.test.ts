import { describe, test } from 'node:test';
import { openStore } from '../store/open.ts';
import { postgresDatabase, postgresMissing } from '../store/testing/postgres.ts';
import { apiScenarios } from './testing/all.ts';

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
