import { describe } from 'node:test';
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
  describe('on PostgreSQL', { skip: postgresMissing() ?? false }, () => tests(databaseWithTables));
}
