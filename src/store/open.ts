import { join } from 'node:path';
import { makeFolderSync, systemFiles } from '../base/files.ts';
import type { Clock } from '../base/time.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store } from './store.ts';

const SQLITE_FILE = 'uqrp.sqlite';

interface StoreOptions {
  /** Where the embedded engine keeps its file; made for the owner alone when missing. */
  readonly dataDir: string;
  /** `postgres://...`, or null for the embedded engine. */
  readonly databaseUrl: string | null;
  readonly clock: Clock;
  /** False: opens PostgreSQL without asking the server for anything, and never changes its tables. */
  readonly mayMigrate?: boolean;
  /** False: tables of an earlier release are not changed. A server of that release may run over them. */
  readonly mayUpgrade?: boolean;
}

/** Opens the store that the configuration asks for, with its tables up to date. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, databaseUrl, clock, mayMigrate, mayUpgrade } = options;
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts');
    return openPostgresStore(databaseUrl, clock, { mayMigrate, mayUpgrade });
  }
  makeFolderSync(dataDir, 0o700);
  return openSqliteStore({ file: join(dataDir, SQLITE_FILE), clock, mayUpgrade });
}

/** Whether the data directory holds a database of the embedded engine that is not empty. */
export function hasLocalStore(dataDir: string): boolean {
  return (systemFiles.facts(join(dataDir, SQLITE_FILE))?.octets ?? 0) > 0;
}
