import { describe } from 'node:test';
import { openStore } from '../../../src/store/open.ts';
import type { TestDatabase } from './fixtures.ts';
import { databaseWithTables } from './postgres.ts';
import { postgresMissing } from './postgres-files.ts';
import { sqliteDatabase } from './sqlite.ts';

/**
 * Registers what every engine of the store must do.
 *
 * @param tests registers them; `create` makes an empty database, for one scenario
 */
export function onEachEngine(tests: (create: () => Promise<TestDatabase>) => void): void {
  describe('on SQLite', () => tests(sqliteDatabase));
  describe('on PostgreSQL', { skip: postgresMissing() ?? false }, () =>
    tests(async () => {
      const database = await databaseWithTables();
      return {
        open: (clock = Date.now) => openStore({ dataDir: '', databaseUrl: database.url, clock }),
        drop: () => database.drop(),
      };
    }),
  );
}
