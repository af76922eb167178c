import { join } from 'node:path';
import { makeFolderSync, systemFiles } from '../base/files.ts';
import type { Clock } from '../base/time.ts';
import type { TablesUse } from './migrations/migrate.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store } from './store.ts';

const SQLITE_FILE = 'uqrp.sqlite';

interface StoreOptions {
  /** Where the embedded engine keeps its file; made for the owner alone when missing. */
  readonly dataDir: string;
  /** `postgres://...`, or null for the embedded engine. */
  readonly databaseUrl: string | null;
  readonly clock: Clock;
  /** Default `upgrade`. A server of an earlier release may run over its tables. With `look` PostgreSQL is not asked for anything yet. */
  readonly tables?: TablesUse;
}

/** Opens the store that the configuration asks for. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, databaseUrl, clock, tables } = options;
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts');
    return openPostgresStore(databaseUrl, clock, tables);
  }
  makeFolderSync(dataDir, 0o700);
  return openSqliteStore({ file: join(dataDir, SQLITE_FILE), clock, tables });
}

/** Whether the data directory holds a database of the embedded engine that is not empty. */
export function hasLocalStore(dataDir: string): boolean {
  return (systemFiles.facts(join(dataDir, SQLITE_FILE))?.octets ?? 0) > 0;
}
